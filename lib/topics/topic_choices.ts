import { z } from 'zod'
import { TopicChoices } from '#lib/contacts/new_contact.ts'

/** The body of PATCH /contacts/:id/topics: choices about topics, in an object or as a bare list. */
export const ChoiceChange = z
  .preprocess(
    value => (Array.isArray(value) ? { topics: value } : value),
    z.object({ topics: TopicChoices.describe('Up to 100 choices about topics.') }),
  )
  .meta({ id: 'TopicChoices' })

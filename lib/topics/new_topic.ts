import { z } from 'zod'
import { Subscription } from '#lib/contacts/new_contact.ts'
import { withTwins } from '#lib/json/camel_case_twins.ts'
import { Fixed, TEXT_LINE } from '#lib/zod_fields.ts'

/** In characters. */
const MAX_NAME = 50
const MAX_DESCRIPTION = 200

/** Shown on the preference page. */
const Name = z.string().max(MAX_NAME).regex(TEXT_LINE, 'must be one line of text')

/** Null and the empty string clear it. */
const Description = z
  .string()
  .max(MAX_DESCRIPTION)
  .nullish()
  .transform(text => (text === '' ? null : text))

export const Visibility = z.enum(['public', 'private'])

const NAME = 'One line of 1 to 50 characters. Unique among the topics of the account.'
const DESCRIPTION = 'Up to 200 characters. Null clears it.'
const DEFAULT = '`opt_in`: contacts get its mail unless they opt out. `opt_out`: only those who have opted in get it.'
const VISIBILITY = '`public`: contacts see it on their preference page.'

/** The body of POST /topics. */
export const NewTopic = withTwins(
  z.object({
    name: Name.describe(NAME),
    description: Description.transform(text => text ?? null).describe(DESCRIPTION),
    default_subscription: Subscription.describe(DEFAULT),
    visibility: Visibility.default('private').describe(VISIBILITY),
    domain_id: z
      .guid()
      .nullish()
      .describe('Id of the domain whose contacts have it. Default: contacts of every domain.'),
    domain: z.string().nullish().describe('Name or id of that domain, in place of `domain_id`.'),
  }),
).meta({ id: 'NewTopic' })

/** The body of PATCH /topics/:id. Fields that are left out stay as they are. */
export const TopicChange = withTwins(
  z.object({
    name: Name.optional().describe(NAME),
    description: Description.describe(DESCRIPTION),
    visibility: Visibility.optional().describe(VISIBILITY),
    default_subscription: Fixed,
    domain_id: Fixed,
    domain: Fixed,
  }),
).meta({ id: 'TopicChange' })

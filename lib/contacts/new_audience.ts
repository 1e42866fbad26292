import { z } from 'zod'
import { withTwins } from '#lib/json/camel_case_twins.ts'
import { Fixed, TEXT_LINE } from '#lib/zod_fields.ts'
import { IMPLIED_DOMAIN } from './new_contact.ts'

/** In characters. */
const MAX_NAME = 255

/** The name of an audience or segment: one line that is not blank. */
export const GroupName = z.string().max(MAX_NAME).regex(TEXT_LINE, 'must be one line of text')

const NAME = 'One line of 1 to 255 characters. Unique among the audiences of the domain.'

/** The body of POST /audiences. */
export const NewAudience = withTwins(
  z.object({ name: GroupName.describe(NAME), domain: z.string().nullish().describe(IMPLIED_DOMAIN) }),
).meta({ id: 'NewAudience' })

/** The body of PATCH /audiences/:id. */
export const AudienceChange = z
  .object({
    name: GroupName.describe(NAME),
    domain: Fixed,
  })
  .meta({ id: 'AudienceChange' })

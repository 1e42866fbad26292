import { z } from 'zod'
import type { ErrorName } from '#lib/errors.ts'
import { withTwins } from '#lib/json/camel_case_twins.ts'
import { parseAddress } from '#lib/mail/address.ts'
import { addresses, From, ShownSubject } from '#lib/mail/mail_fields.ts'
import { counted, refuse, TEXT_LINE } from '#lib/zod_fields.ts'
import { hasPlaceholder } from './placeholders.ts'
import { MAX_PART } from './render.ts'
import { Alias, MAX_VARIABLES, VariableKey, Variables, VariableValue } from './variables.ts'

export const MAX_NAME = 255

const NewVariable = withTwins(
  z
    .object({
      key: VariableKey.describe('1 to 50 letters, digits or `_`.'),
      type: z.enum(['string', 'number']).default('string').describe('Type of its values.'),
      fallback_value: VariableValue.nullish()
        .transform(value => value ?? null)
        .describe('Value for emails that give none, of the `type` of the variable.'),
    })
    .refine(({ type, fallback_value: value }) => value === null || typeof value === type, {
      path: ['fallback_value'],
      error: 'must be of the `type` of its variable',
    }),
).meta({ id: 'NewTemplateVariable' })

const variables = z
  .array(NewVariable)
  .refine(list => new Set(list.map(({ key }) => key)).size === list.length, 'must not have a key twice')

const part = z.string().max(MAX_PART)
const emptyIsNull = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess(value => (value === '' ? null : value), schema)

/** The reason why placeholders in a template's `from` or `reply_to` are rejected: the mail would show the placeholder itself. */
export const NOT_RENDERED = 'must not have placeholders: they are replaced only in `subject`, `html` and `text`'

function withoutPlaceholders<Schema extends z.ZodType>(name: ErrorName, schema: Schema) {
  return z.preprocess((value, context) => {
    const has = [value].flat().some(text => typeof text === 'string' && hasPlaceholder(text))
    if (has) refuse(context, name, NOT_RENDERED)
    return value
  }, schema)
}

/** Limits the search for commas outside of quotes, which is quadratic for hostile text. */
const MAX_REPLY_TO = 5_000

/** Addresses as a list, or as the text that the API returns, joined by commas. */
const replyTo = z.preprocess(
  value => (typeof value === 'string' && value.length <= MAX_REPLY_TO ? splitAtCommas(value) : value),
  addresses('validation_error').nullish(),
)

const fields = {
  name: z
    .string()
    .min(1)
    .max(MAX_NAME)
    .regex(TEXT_LINE, 'must be one line of text')
    .describe('Name for people: one line of 1 to 255 characters.'),
  html: part.describe('HTML part, with placeholders such as `{{first_name|friend}}`.'),
  subject: emptyIsNull(ShownSubject.nullish()).describe('Subject of emails that have none; may have placeholders.'),
  text: part.nullish().describe('Plain-text part; may have placeholders. Without it, it is derived from `html`.'),
  from: emptyIsNull(withoutPlaceholders('invalid_from_address', From.nullish())).describe(
    'Sender of emails that have none: `email@domain` or `Name <email@domain>`.',
  ),
  reply_to: emptyIsNull(withoutPlaceholders('validation_error', replyTo)).describe(
    'Up to 50 addresses for replies: a list, or one text with commas between them.',
  ),
  alias: Alias.nullish().describe(
    'Name that requests may use in place of the id: 1 to 64 lower-case letters, digits, `_` or `-`. Unique per account.',
  ),
  variables: counted(0, MAX_VARIABLES, 'variables', variables.nullish()).describe(
    'Up to 50 variables. Without any, they are derived from the placeholders.',
  ),
}

/** The body of POST /templates. */
export const NewTemplate = withTwins(z.object(fields)).meta({ id: 'NewTemplate' })
export type NewTemplate = z.output<typeof NewTemplate>

/** The body of PATCH /templates/:id. Fields that are left out stay as they are; null clears one. */
export const TemplateChange = withTwins(z.object(fields).partial()).meta({ id: 'TemplateChange' })
export type TemplateChange = z.output<typeof TemplateChange>

/** The body of POST /templates/:id/duplicate, which may be left out. */
export const TemplateCopy = z
  .object({
    name: fields.name.nullish().describe('Name of the copy. Default: `Copy of` and the name of the original.'),
  })
  .nullish()
  .meta({ id: 'TemplateCopy' })

/** The body of POST /templates/:id/render, which may be left out. */
export const TemplateRendering = z
  .object({
    variables: Variables.describe('Values by key. A variable without one has its fallback value.'),
  })
  .nullish()
  .meta({ id: 'TemplateRendering' })

/** Splits a text at commas, except those in a quoted name. */
function splitAtCommas(text: string): string[] {
  if (parseAddress(text)) return [text]
  return (text.match(/(?:"(?:[^"\\]|\\.)*"|[^",])+/g) ?? [text]).map(address => address.trim())
}

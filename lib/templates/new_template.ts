import { z } from 'zod'
import type { ErrorName } from '#lib/errors.ts'
import { withTwins } from '#lib/json/camel_case_twins.ts'
import { parseAddress } from '#lib/mail/address.ts'
import { addresses, From, Subject } from '#lib/mail/mail_fields.ts'
import { counted, refuse } from '#lib/zod_fields.ts'
import { hasPlaceholder } from './placeholders.ts'
import { MAX_PART } from './render.ts'
import { Alias, MAX_VARIABLES, VariableKey, VariableValue } from './variables.ts'

export const MAX_NAME = 255

const NewVariable = withTwins(
  z
    .object({
      key: VariableKey,
      type: z.enum(['string', 'number']).default('string'),
      fallback_value: VariableValue.nullish().transform(value => value ?? null),
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

/** Why a template's `from` or `reply_to` is refused that names a variable: the mail would show the placeholder itself. */
export const NOT_RENDERED = 'must not have placeholders: they are replaced only in `subject`, `html` and `text`'

function withoutPlaceholders<Schema extends z.ZodType>(name: ErrorName, schema: Schema) {
  return z.preprocess((value, context) => {
    const has = [value].flat().some(text => typeof text === 'string' && hasPlaceholder(text))
    if (has) refuse(context, name, NOT_RENDERED)
    return value
  }, schema)
}

/** To look for commas outside quotes takes the square of a hostile text's length. */
const MAX_REPLY_TO = 5_000

/** Addresses as a list, or as the text that the API answers: joined by commas. */
const replyTo = z.preprocess(
  value => (typeof value === 'string' && value.length <= MAX_REPLY_TO ? splitAtCommas(value) : value),
  addresses('validation_error').nullish(),
)

const fields = {
  name: z.string().min(1).max(MAX_NAME),
  html: part,
  subject: emptyIsNull(Subject.nullish()),
  text: part.nullish(),
  from: emptyIsNull(withoutPlaceholders('invalid_from_address', From.nullish())),
  reply_to: emptyIsNull(withoutPlaceholders('validation_error', replyTo)),
  alias: Alias.nullish(),
  variables: counted(0, MAX_VARIABLES, 'variables', variables.nullish()),
}

/** The body of POST /templates (contract 8). */
export const NewTemplate = withTwins(z.object(fields)).meta({ id: 'NewTemplate' })
export type NewTemplate = z.output<typeof NewTemplate>

/** The body of PATCH /templates/:id: what is left out stays, null clears. */
export const TemplateChange = withTwins(z.object(fields).partial()).meta({ id: 'TemplateChange' })
export type TemplateChange = z.output<typeof TemplateChange>

/** The body of POST /templates/:id/duplicate, which may be left out. */
export const TemplateCopy = z.object({ name: fields.name.nullish() }).nullish().meta({ id: 'TemplateCopy' })

/** Not at those of a quoted name. */
function splitAtCommas(text: string): string[] {
  if (parseAddress(text)) return [text]
  return (text.match(/(?:"(?:[^"\\]|\\.)*"|[^",])+/g) ?? [text]).map(address => address.trim())
}

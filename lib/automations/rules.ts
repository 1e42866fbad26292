import { z } from 'zod'
import { isObject } from '#lib/json/is_object.ts'
import { orList } from '#lib/json/requirements.ts'

const CONTACT_FIELDS = ['id', 'email', 'first_name', 'last_name', 'unsubscribed', 'timezone', 'created_at'] as const

/**
 * The name of a value of the contact or of an event's payload. `event.a.b` is the member `b` of the member `a`. Only own members
 * are read: `event.constructor` does not exist by itself.
 */
export type Field = `contact.${(typeof CONTACT_FIELDS)[number]}` | `contact.properties.${string}` | `event.${string}`

/** A value that is read from the contact or the event when the step runs. */
export type VarRef = { var: Field }

type FieldRule =
  | { type: 'rule'; field: Field; operator: 'eq' | 'neq'; value: string | number | boolean | null }
  | { type: 'rule'; field: Field; operator: 'gt' | 'gte' | 'lt' | 'lte'; value: number | string }
  | { type: 'rule'; field: Field; operator: 'contains' | 'starts_with' | 'ends_with'; value: string }
  | { type: 'rule'; field: Field; operator: 'exists' | 'is_empty' }
export type Rule = FieldRule | { type: 'and' | 'or'; rules: Rule[] }

/** Levels of nesting. A group and its members are two levels. */
const MAX_DEPTH = 5
/** Per rule, all levels together. */
const MAX_CONDITIONS = 50
const MAX_TEXT = 2_000

const CONTACT_FIELD = new RegExp(`^contact\\.(?:${CONTACT_FIELDS.join('|')})$`)
const PROPERTY_FIELD = /^(?:contact\.)?properties\.(\w{1,50})$/
const EVENT_FIELD = /^event(?:\.\w{1,50}){1,3}$/

const ANY_FIELD = 'must be `contact.<field>`, `contact.properties.<key>` or `event.<key>`'
const EVENT_ONLY = 'must be `event.<key>`: only the event is looked at'

/** Returns the field that a text names, with `properties.plan` as `contact.properties.plan`; null if it names none. */
export function readField(text: string): Field | null {
  const [, property] = PROPERTY_FIELD.exec(text) ?? []
  if (property !== undefined) return `contact.properties.${property}`
  return CONTACT_FIELD.test(text) || EVENT_FIELD.test(text) ? (text as Field) : null
}

/** Returns the key of the contact property that a field names; null if it names none. */
export function propertyOf(field: Field): string | null {
  return PROPERTY_FIELD.exec(field)?.[1] ?? null
}

/** Returns all fields that a rule reads. */
export function fieldsOf(rule: Rule): Field[] {
  return 'rules' in rule ? rule.rules.flatMap(fieldsOf) : [rule.field]
}

/** `{"var": "contact.first_name"}` */
export const Var = z
  .strictObject({ var: z.string().describe('A field of the contact or the event, such as `event.plan`.') })
  .transform((given, context): VarRef => {
    const field = readField(given.var)
    if (field) return { var: field }
    context.addIssue({ code: 'custom', path: ['var'], message: ANY_FIELD })
    return z.NEVER
  })

const text = z.string().max(MAX_TEXT)
const number = z.number()
const OPERATORS: Record<string, { schema: z.ZodType; message: string } | null> = {
  ...group(
    ['eq', 'neq'],
    z.union([text, number, z.boolean(), z.null()]),
    'must be a string of up to 2,000 characters, a number, `true`, `false` or null',
  ),
  ...group(
    ['gt', 'gte', 'lt', 'lte'],
    z.union([number, z.iso.date(), z.iso.datetime({ offset: true })]),
    'must be a number, an ISO 8601 date or a timestamp with an offset',
  ),
  ...group(['contains', 'starts_with', 'ends_with'], text.min(1), 'must be a string of 1 to 2,000 characters'),
  exists: null,
  is_empty: null,
}

function group(names: string[], schema: z.ZodType, message: string) {
  return Object.fromEntries(names.map(name => [name, { schema, message }]))
}

type Members = Record<string, unknown>
type Path = PropertyKey[]
/** The state while a rule is read. `conditions`: how many have been read. */
type Reading = { context: z.RefinementCtx; event_only: boolean; conditions: number }

const schemaOf = (event_only: boolean) =>
  z
    .unknown()
    .transform((value, context): Rule => readRule({ context, event_only, conditions: 0 }, value, [], 1))
    .meta({ type: 'object' })

/** A condition on the contact and the event. Checked by hand, since the type is recursive. */
export const ConditionRule = schemaOf(false)
/** A condition on an event alone. */
export const EventRule = schemaOf(true)

function readRule(reading: Reading, value: unknown, path: Path, depth: number): Rule {
  if (!isObject(value)) return refuse(reading, path, 'must be an object')
  if (depth > MAX_DEPTH) return refuse(reading, path, `must not be nested deeper than ${MAX_DEPTH} levels`)
  const { type, rules } = value
  if (type === 'rule') return readCondition(reading, value, path)
  if (type !== 'and' && type !== 'or') return refuse(reading, [...path, 'type'], 'must be `rule`, `and` or `or`')
  if (!Array.isArray(rules)) return refuse(reading, [...path, 'rules'], 'must be a list')
  if (rules.length < 1 || rules.length > MAX_CONDITIONS) {
    return refuse(reading, [...path, 'rules'], `must have 1 to ${MAX_CONDITIONS} items`)
  }
  return { type, rules: rules.map((rule, n) => readRule(reading, rule, [...path, 'rules', n], depth + 1)) }
}

function readCondition(reading: Reading, { field: given, operator, value }: Members, path: Path): Rule {
  if (++reading.conditions > MAX_CONDITIONS) {
    return refuse(reading, path, `is one too many: a rule has at most ${MAX_CONDITIONS} conditions`)
  }
  const field = typeof given === 'string' ? readField(given) : null
  if (!field || (reading.event_only && !field.startsWith('event.'))) {
    return refuse(reading, [...path, 'field'], reading.event_only ? EVENT_ONLY : ANY_FIELD)
  }
  if (typeof operator !== 'string' || !Object.hasOwn(OPERATORS, operator)) {
    return refuse(reading, [...path, 'operator'], `must be ${orList(Object.keys(OPERATORS))}`)
  }
  const values = OPERATORS[operator]
  if (!values) {
    if (value === undefined || value === null) return { type: 'rule', field, operator } as Rule
    return refuse(reading, [...path, 'value'], `must be left out: \`${operator}\` takes none`)
  }
  const { success, data } = values.schema.safeParse(value)
  if (!success) return refuse(reading, [...path, 'value'], values.message)
  return { type: 'rule', field, operator, value: data } as Rule
}

function refuse({ context }: Reading, path: Path, message: string): typeof z.NEVER {
  context.addIssue({ code: 'custom', path, message })
  return z.NEVER
}

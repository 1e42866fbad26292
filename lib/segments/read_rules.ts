import { z } from 'zod'
import { PropertyValue } from '#lib/contacts/new_property.ts'
import { withTwins } from '#lib/json/camel_case_twins.ts'
import { isObject } from '#lib/json/is_object.ts'
import { orList, requirementOf } from '#lib/json/requirements.ts'
import { moment } from '#lib/zod_fields.ts'
import type { Condition, Rules } from './conditions.ts'

/** Levels of nesting. A group and its members are two levels. */
const MAX_DEPTH = 5
const MAX_CHILDREN = 50
const MAX_TEXT = 2_000
/** About ten years. */
const MAX_DAYS = 3_660

const text = z.string().min(1).max(MAX_TEXT)
const days = z.int().min(1).max(MAX_DAYS)
const name = { eq: text, contains: text, exists: null }
const number = z.number().min(-Number.MAX_SAFE_INTEGER).max(Number.MAX_SAFE_INTEGER)
const timestamp = moment.transform(value => value.toISOString())
const engagement = withTwins(
  z
    .object({ campaign_id: z.guid().toLowerCase(), within_days: days, count: z.int().min(1).max(1_000_000) })
    .partial()
    .refine(
      value => Object.values(value).filter(member => member !== undefined).length === 1,
      'must have exactly one of `campaign_id`, `within_days` and `count`',
    ),
)

/** The values that each operator of a field accepts; null: none. */
const FIELDS: Record<string, Record<string, z.ZodType | null>> = {
  email: { eq: text, contains: text },
  first_name: name,
  last_name: name,
  created_at: { before: timestamp, after: timestamp, within_days: days },
  unsubscribed: { eq: z.boolean() },
  topic: { eq: z.guid().toLowerCase() },
  segment: { eq: z.guid().toLowerCase() },
  engagement: { opened: engagement, not_opened: engagement, clicked: engagement, not_clicked: engagement },
}
const PROPERTY = { eq: PropertyValue, contains: text, exists: null, gt: number, gte: number, lt: number, lte: number }
const PROPERTY_FIELD = /^properties\.\w{1,50}$/

type Context = z.RefinementCtx
type Path = PropertyKey[]

/** The `rules` of a segment. Checked by hand, since a recursive schema could not tell which of its forms was meant. */
export const RulesField = z
  .unknown()
  .transform((value, context): Rules => readRules(value, context, [], 1))
  .meta({ type: 'object' })

function readRules(value: unknown, context: Context, path: Path, depth: number): Rules {
  if (!isObject(value)) return refuse(context, path, 'must be an object')
  if (depth > MAX_DEPTH) return refuse(context, path, `must not be nested deeper than ${MAX_DEPTH} levels`)
  const [form, ...others] = ['and', 'or', 'not', 'field'].filter(member => value[member] !== undefined)
  if (form === undefined || others.length > 0) {
    return refuse(context, path, 'must have exactly one of `and`, `or`, `not` and `field`')
  }
  if (form === 'field') return readCondition(value, context, path)
  const child = value[form]
  if (form === 'not') return { not: readRules(child, context, [...path, form], depth + 1) }
  if (!Array.isArray(child)) return refuse(context, [...path, form], 'must be a list')
  if (child.length < 1 || child.length > MAX_CHILDREN) {
    return refuse(context, [...path, form], `must have 1 to ${MAX_CHILDREN} items`)
  }
  const children = child.map((one, index) => readRules(one, context, [...path, form, index], depth + 1))
  return form === 'and' ? { and: children } : { or: children }
}

function readCondition({ field, operator, value }: Members, context: Context, path: Path): Rules {
  const isProperty = typeof field === 'string' && PROPERTY_FIELD.test(field)
  const operators = isProperty ? PROPERTY : Object.hasOwn(FIELDS, String(field)) ? FIELDS[String(field)] : undefined
  if (!operators) {
    const names = orList([...Object.keys(FIELDS), 'properties.<key>'])
    return refuse(context, [...path, 'field'], `must be ${names}`)
  }
  if (typeof operator !== 'string' || !Object.hasOwn(operators, operator)) {
    return refuse(context, [...path, 'operator'], `must be ${orList(Object.keys(operators))}`)
  }
  const schema = (operators as Record<string, z.ZodType | null>)[operator] as z.ZodType | null
  if (schema === null) {
    if (value !== undefined) return refuse(context, [...path, 'value'], `must be left out: \`${operator}\` takes none`)
    return { field, operator } as Condition
  }
  if (value === undefined) return missing(context, [...path, 'value'])
  const result = schema.safeParse(value, { reportInput: true, error: requirementOf })
  if (result.success) return { field, operator, value: result.data } as Condition
  const [issue] = result.error.issues as [z.core.$ZodIssue]
  return refuse(context, [...path, 'value', ...issue.path], issue.message)
}

type Members = Record<string, unknown>

function refuse(context: Context, path: Path, message: string): typeof z.NEVER {
  context.addIssue({ code: 'custom', path, message })
  return z.NEVER
}

function missing(context: Context, path: Path): typeof z.NEVER {
  return refuse(context, path, 'must be given')
}

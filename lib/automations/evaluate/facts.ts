import type { Field, VarRef } from '#lib/automations/rules.ts'

export type Payload = Record<string, unknown>

/** A contact as steps see it. `own` has its properties by key; `properties` adds the fallback values of the account. */
export type RunContact = {
  id: string
  email: string
  first_name: string | null
  last_name: string | null
  unsubscribed: boolean
  timezone: string | null
  created_at: Date
  own: Record<string, string | number>
  properties: Record<string, string | number>
}

/**
 * The values that rules and variables read. `payload` is from the event that started the run, `event` from the last event that
 * the run waited for. Members of `event` take precedence.
 */
export type Facts = { contact: RunContact; payload: Payload; event: Payload | null }

/** Returns the value of a field, or undefined if there is none. `own`: without the fallback values of properties. */
export function readValue(field: Field, facts: Facts, { own = false } = {}): unknown {
  const [scope, ...path] = field.split('.') as [string, ...string[]]
  if (scope === 'event') return memberOf(hasKey(facts.event, path[0] as string) ? facts.event : facts.payload, path)
  const [name, key] = path
  if (name === 'properties') return memberOf(own ? facts.contact.own : facts.contact.properties, [key as string])
  const value = memberOf(facts.contact, [name as string])
  return value instanceof Date ? value.toISOString() : value
}

function hasKey(payload: Payload | null, key: string): boolean {
  return payload !== null && Object.hasOwn(payload, key)
}

/** Reads own members only: `event.constructor` is undefined. */
function memberOf(value: unknown, path: string[]): unknown {
  return path.reduce<unknown>(
    (parent, key) =>
      typeof parent === 'object' && parent !== null && Object.hasOwn(parent, key)
        ? (parent as Payload)[key]
        : undefined,
    value,
  )
}

/** Returns a value of a step's configuration, or the value it refers to; undefined if that does not exist. */
export function resolve<Value>(value: Value | VarRef, facts: Facts): unknown {
  return isVar(value) ? (readValue(value.var, facts) ?? undefined) : value
}

function isVar(value: unknown): value is VarRef {
  return typeof value === 'object' && value !== null && 'var' in value
}

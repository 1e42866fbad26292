import { LRUCache } from 'lru-cache'
import { Temporal } from 'temporal-polyfill'
import { z } from 'zod'

const known = new LRUCache<string, boolean>({ max: 2_000 })

/**
 * Tells whether a name is an IANA time zone or an alias of one, ignoring case. Offsets such as `+02:00` are not accepted, nor
 * abbreviations of ICU such as `IST`, which Temporal does not know.
 */
export function isTimeZone(name: string): boolean {
  let answer = known.get(name)
  if (answer === undefined) {
    answer = name.length <= MAX_NAME && /^[A-Za-z]/.test(name) && isAccepted(name)
    if (name.length <= MAX_NAME) known.set(name, answer)
  }
  return answer
}

export const NOT_A_ZONE = 'must be an IANA time zone such as Europe/Berlin'

export const TimeZone = z.string().refine(isTimeZone, NOT_A_ZONE)

/** In characters. The longest name has 30. */
const MAX_NAME = 64

function isAccepted(timeZone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone })
    Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(timeZone)
    return true
  } catch {
    return false
  }
}

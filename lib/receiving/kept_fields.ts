/** A message id of RFC 5322 section 3.6.4 without obsolete forms, since replies repeat it exactly. */
const ATOMS = "[\\w!#$%&'*+/=?^`{|}~-]+(?:\\.[\\w!#$%&'*+/=?^`{|}~-]+)*"
const MESSAGE_ID = new RegExp(`^<(${ATOMS}@(?:${ATOMS}|\\[[!-Z^-~]*\\]))>$`)
const MAX_MESSAGE_ID = 500

// RFC 5322 3.3, with the zones of RFC 822 that mean UTC. A comment may follow, as in `+0200 (CEST)`.
const DATE =
  /^(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),)?\s*(\d{1,2}\s+(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\s+\d{4}\s+\d{2}:\d{2}(?::\d{2})?)\s+(?:([+-])(\d{2})([0-5]\d)|GMT|UTC?|Z)(?:\s*\([^()]*\))?$/i
const DAY_MS = 86_400_000

type Headers = Readonly<Record<string, string>>

/**
 * Returns the Message-ID of a submitted message, without its angle brackets; null if there is none, several, or an invalid one.
 */
export function keptMessageId(headers: Headers): string | null {
  const [, id] = MESSAGE_ID.exec(headers['message-id'] ?? '') ?? []
  return id !== undefined && id.length <= MAX_MESSAGE_ID ? id : null
}

/** Returns the Date of a submitted message, reformatted in its own zone; null if it is invalid, or more than a day away. */
export function keptDate(headers: Headers, now: Date): string | null {
  const [match, local = '', sign = '+', hours = '00', minutes = '00'] = DATE.exec(headers.date ?? '') ?? []
  if (!match) return null
  const offset = (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000
  const shown = new Date(`${local} UTC`)
  if (!(Math.abs(shown.getTime() - offset - now.getTime()) <= DAY_MS)) return null
  return shown.toUTCString().replace('GMT', `${sign}${hours}${minutes}`)
}

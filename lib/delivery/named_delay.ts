/** In seconds. */
const SHORTEST = 30
const LONGEST = 60 * 60
const SECONDS = { s: 1, m: 60, h: 3600 }

// "try again in 300 seconds", "come back in 5 minutes", "Greylisted for 1 hour", "retry after 120"
const SPAN =
  /\b(?:again|retry|back|wait|gr[ea]y-?list\w*|resend)\b[^.;\d[]{0,40}?\b(\d{1,6})(?: ?(s|m|h)(?:(?:ec|in|r|econd|inute|our)s?)?\b|(?=$|[,;)]|\.(?!\d)))/i
// "Greylisting in action, please come back in 00:05:00"
const CLOCK = /\b(?:again|retry|back|wait)\b[^.;\d]{0,40}?\b(\d{1,2}):(\d{2}):(\d{2})\b/i

/**
 * Returns the seconds after which a server that defers a message wants to see it again, as greylisting often says, or null if it
 * names no time. Limited to 30 s to 1 h, since the server could name any time.
 */
export function namedDelay(text: string): number | null {
  const [, hours, minutes, seconds] = CLOCK.exec(text) ?? []
  if (seconds !== undefined) return bounded(Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds))
  const [, count, unit = 's'] = SPAN.exec(text) ?? []
  return count === undefined ? null : bounded(Number(count) * SECONDS[unit.toLowerCase() as keyof typeof SECONDS])
}

function bounded(seconds: number): number {
  return Math.min(Math.max(seconds, SHORTEST), LONGEST)
}

/** Attempts that an endpoint is judged by, at most. */
const WINDOW = 20
/** And at least. */
const LEAST = 5
/** Failures among them from which on it rests, as a share. */
const SHARE = 0.9

/** Results, oldest first: `s` success, `f` failure, `h` one that took all of its time. */
export type Results = string

/** As `webhook_results` of sql/webhooks/settle_webhooks.sql: a success at an endpoint that was to rest makes it as good as new. */
export function addResult(results: Results, result: 's' | 'f' | 'h'): Results {
  return result === 's' && isToRest(results) ? result : (results + result).slice(-WINDOW)
}

/**
 * Whether an endpoint gets single attempts with pauses between them: of its last 20 attempts (at least 5) nine in ten failed,
 * or the last five all hung, each of which held a connection for as long as may be. As `webhook_is_to_rest` of sql/webhooks/settle_webhooks.sql.
 */
export function isToRest(results: Results): boolean {
  if (results.length < LEAST || results.endsWith('s')) return false
  const failures = results.replaceAll('s', '').length
  return failures >= SHARE * results.length || results.endsWith('h'.repeat(LEAST))
}

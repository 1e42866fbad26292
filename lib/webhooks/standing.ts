/** The numbers that an endpoint is judged by, here and in sql/webhooks/settle_webhooks.sql. */
export const STANDING_RULES = {
  /** The most attempts that count, the last ones. */
  window: 20,
  /** The fewest attempts to judge by. */
  fewest: 5,
  /** The share of failures among them from which on it rests. */
  share: 0.9,
  /** A webhook is disabled after this many failures in a row. */
  most_failures: 50,
}

/** Results, oldest first: `s` success, `f` failure, `h` one that took all of its time. */
export type Results = string

/** As `webhook_results` of sql/webhooks/settle_webhooks.sql: a success at an endpoint that was to rest makes it as good as new. */
export function addResult(results: Results, result: 's' | 'f' | 'h'): Results {
  return result === 's' && isToRest(results) ? result : (results + result).slice(-STANDING_RULES.window)
}

/**
 * Whether an endpoint gets single attempts with pauses between them: of its last 20 attempts (at least 5) nine in ten failed,
 * or the last five all hung, each of which held a connection for as long as may be. As `webhook_is_to_rest` of sql/webhooks/settle_webhooks.sql.
 */
export function isToRest(results: Results): boolean {
  const { fewest, share } = STANDING_RULES
  if (results.length < fewest || results.endsWith('s')) return false
  const failures = results.replaceAll('s', '').length
  return failures >= share * results.length || results.endsWith('h'.repeat(fewest))
}

/** The limits by which endpoints are rated, here and in sql/webhooks/settle_webhooks.sql. */
export const STANDING_RULES = {
  /** Number of latest attempts that count. */
  window: 20,
  /** Fewest attempts for a rating. */
  fewest: 5,
  /** The endpoint rests from this share of failures on. */
  share: 0.9,
  /** A webhook is disabled after this many failures in a row. */
  most_failures: 50,
}

/** Results, oldest first: `s` success, `f` failure, `h` hung until its time was over. */
export type Results = string

/**
 * The same as `webhook_results` in sql/webhooks/settle_webhooks.sql: a success of an endpoint that rests clears its earlier
 * results.
 */
export function addResult(results: Results, result: 's' | 'f' | 'h'): Results {
  return result === 's' && isToRest(results) ? result : (results + result).slice(-STANDING_RULES.window)
}

/**
 * Tells whether an endpoint rests, which means single attempts with pauses: nine in ten of its last 20 attempts (at least 5)
 * failed, or the last five all hung, each of which held a connection for the full time. The same as `webhook_is_to_rest` in
 * sql/webhooks/settle_webhooks.sql.
 */
export function isToRest(results: Results): boolean {
  const { fewest, share } = STANDING_RULES
  if (results.length < fewest || results.endsWith('s')) return false
  const failures = results.replaceAll('s', '').length
  return failures >= share * results.length || results.endsWith('h'.repeat(fewest))
}

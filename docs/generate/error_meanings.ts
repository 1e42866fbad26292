import { SEND_ERRORS } from '#api/send_requested.ts'
import { type ErrorName, statusOf } from '#lib/errors.ts'
import { table } from './markdown.ts'

/** Meaning of each error. */
export const MEANINGS: Record<ErrorName, string> = {
  missing_api_key: 'The request has no API key.',
  restricted_api_key: 'The key may only send.',
  invalid_api_key: 'The key is unknown, revoked or expired.',
  dashboard_only:
    'API keys cannot do this: keys, members and the audit log are for members who are signed in to the dashboard.',
  view_only_member: 'View-only members of the dashboard cannot make changes. API keys never get this error.',
  validation_error:
    'A field or a parameter is invalid, or the record is not in a state that allows this. `403`: the request has no User-Agent. `409`: the name, key or alias is taken.',
  missing_required_field: 'A required field is missing.',
  not_found: 'The route or the record does not exist.',
  invalid_idempotency_key: 'The `Idempotency-Key` must be 1 to 255 printable ASCII characters.',
  invalid_idempotent_request: 'The `Idempotency-Key` was used with a different body.',
  concurrent_idempotent_requests:
    'The first request with this `Idempotency-Key` is still in progress. Retry after `retry-after`.',
  invalid_from_address: 'The sender is not a valid address.',
  invalid_to_address: 'A recipient is not a valid address.',
  invalid_attachment: 'An attachment must have either `content` or `path`.',
  reserved_recipient:
    'Not used at present: a recipient at a reserved domain, such as `example.com`, is treated as suppressed.',
  rate_limit_exceeded: 'Too many send requests from this client address. Retry after `retry-after`.',
  daily_quota_exceeded: 'The email would exceed the quota for 24 hours.',
  monthly_quota_exceeded: 'The email would exceed the quota for 30 days.',
  automation_quota_exceeded: 'The plan does not allow that many automation runs in 30 days. Nothing was stored.',
  reputation_limit_exceeded: 'The domain is new and may not send more yet. Retry after `retry-after`.',
  reputation_paused: 'Sending is paused for the account or the domain.',
  plan_limit_reached: 'The plan allows no more domains.',
  domain_conflict: 'The domain, or one above or below it, belongs to another account.',
  contacts_busy: 'Contacts of the account are being written. Nothing was changed. Retry after `retry-after`.',
  contacts_timeout: 'Writing contacts took too long. Nothing was changed. Retry after `retry-after`.',
  batch_incomplete:
    'Time ran out before all emails of the batch were stored. `sent` lists those that are sent. The status is `422` without an `Idempotency-Key`.',
  sending_service_unavailable:
    'Nothing can be sent now: the server is overloaded, cannot reach its database, or is paused. Retry after `retry-after`.',
  sending_configuration_unavailable:
    'The server cannot send email of this domain because of its configuration. Retry after `retry-after`.',
  internal_server_error: 'An unexpected error in the server.',
  contact_limit_reached: 'Not used at present: plans do not limit contacts.',
  ai_credits_exceeded: 'Not used at present: without AI credits, replies are classified by phrases.',
  application_error:
    'The `resend` package reports this for a response that it cannot read. Something between you and the server has failed.',
}

/** Errors that any route can respond with. */
export const usualErrors: ReadonlySet<ErrorName> = new Set<ErrorName>([
  ...(['missing_api_key', 'restricted_api_key', 'invalid_api_key', 'not_found', 'validation_error'] as const),
  ...(['view_only_member', 'internal_server_error'] as const),
])

/** Errors that any route that sends email can respond with. */
export const sendErrors: ReadonlySet<ErrorName> = new Set<ErrorName>(['rate_limit_exceeded', ...SEND_ERRORS])

/** Returns a table of the errors of one kind. */
export function errorTable(used: ReadonlySet<ErrorName>, kind: 'usual' | 'send' | 'other'): string {
  const kindOf = (name: ErrorName) => (usualErrors.has(name) ? 'usual' : sendErrors.has(name) ? 'send' : 'other')
  const names = (Object.keys(statusOf) as ErrorName[]).filter(name => used.has(name) && kindOf(name) === kind)
  const rows = names.map(name => [`[\`${name}\`](errors.md#${name})`, String(statusOf[name]), MEANINGS[name]])
  return table(['Error', 'Status', 'Meaning'], rows)
}

/** Every error name of the API with its HTTP status. Callers branch on the name, never on the message. */
export const statusOf = {
  invalid_idempotency_key: 400,
  missing_api_key: 401,
  restricted_api_key: 401,
  plan_limit_reached: 402,
  invalid_api_key: 403,
  dashboard_only: 403,
  view_only_member: 403,
  reputation_paused: 403,
  not_found: 404,
  invalid_idempotent_request: 409,
  concurrent_idempotent_requests: 409,
  domain_conflict: 409,
  invalid_attachment: 422,
  validation_error: 422,
  invalid_from_address: 422,
  invalid_to_address: 422,
  missing_required_field: 422,
  reserved_recipient: 422,
  daily_quota_exceeded: 429,
  monthly_quota_exceeded: 429,
  contact_limit_reached: 429,
  ai_credits_exceeded: 429,
  automation_quota_exceeded: 429,
  rate_limit_exceeded: 429,
  reputation_limit_exceeded: 429,
  contacts_busy: 503,
  contacts_timeout: 503,
  batch_incomplete: 503,
  sending_service_unavailable: 503,
  sending_configuration_unavailable: 503,
  application_error: 500,
  internal_server_error: 500,
} as const

export type ErrorName = keyof typeof statusOf

/** `details` are additional members of the response. */
type ApiErrorOptions = {
  statusCode?: number
  headers?: Record<string, string>
  details?: Record<string, unknown>
  cause?: unknown
}

/**
 * An error for the caller. It may be thrown anywhere below a route: `api/middleware/errors.ts` responds with `{ statusCode, name,
 * message }`.
 */
export class ApiError extends Error {
  override readonly name: ErrorName
  readonly statusCode: number
  readonly headers: Record<string, string>
  readonly details: Record<string, unknown>

  constructor(name: ErrorName, message: string, options: ApiErrorOptions = {}) {
    super(message, { cause: options.cause })
    this.name = name
    this.statusCode = options.statusCode ?? statusOf[name]
    this.headers = options.headers ?? {}
    this.details = options.details ?? {}
  }

  toJSON(): { statusCode: number; name: ErrorName; message: string } {
    return { statusCode: this.statusCode, name: this.name, message: this.message, ...this.details }
  }
}

/** The only 404: the response is the same, byte by byte, for an unknown id and for an id of another account. */
export function notFound(resource: string): ApiError {
  return new ApiError('not_found', `${resource} not found`)
}

/** Returns the value. @throws {ApiError} 404 if it is null or undefined */
export function orNotFound<Value>(resource: string, value: Value | null | undefined): Value {
  if (value === null || value === undefined) throw notFound(resource)
  return value
}

/** The process cannot start. The message is all that an operator needs: one clear line, without a stack. */
export class StartupError extends Error {}

/**
 * Postgres cannot be reached, or the connection is lost. An outage causes many such errors, so the log limits their lines
 * (lib/log.ts).
 */
export class OutageError extends Error {}

/** The process cannot stop properly, and exits at once. */
export class AbandonedError extends StartupError {}

/** The process cannot continue, and the reason has been logged already. */
export class AlreadyLoggedError extends Error {}

import type { Operation, PossibleError } from '#api/operations/operation.ts'

/** Lists all errors of an operation: those it declares, and those that follow from what it takes. */
export function errorsOf({ method, access, isSend, params, query, body, errors }: Operation): PossibleError[] {
  return [
    { name: 'missing_api_key', status: 401 },
    { name: 'invalid_api_key', status: 403 },
    { name: 'validation_error', status: 403 },
    ...(access === 'full' ? [{ name: 'restricted_api_key', status: 401 } as const] : []),
    ...(access === 'dashboard' ? [{ name: 'dashboard_only', status: 403 } as const] : []),
    ...(method !== 'GET' ? [{ name: 'view_only_member', status: 403 } as const] : []),
    ...(params ? [{ name: 'not_found', status: 404 } as const] : []),
    ...(query || body || params ? [{ name: 'validation_error', status: 422 } as const] : []),
    ...(isSend ? [{ name: 'rate_limit_exceeded', status: 429 } as const] : []),
    { name: 'internal_server_error', status: 500 },
    ...errors,
  ]
}

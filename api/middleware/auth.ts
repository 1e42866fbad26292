import type { Middleware } from '#api/context.ts'
import type { FindSession } from '#flows/members/sessions.ts'
import { isWellFormedApiKey } from '#lib/api_key.ts'
import { ApiError, notFound } from '#lib/errors.ts'
import type { Caller } from '#sql/accounts/api_keys.ts'
import { headerValues } from './errors.ts'
import { callerOfSession, readSession, requireMayChange, requireOwnPage } from './session.ts'

type FindCaller = (key: string) => Promise<Caller | null>

/**
 * Checks that there is a User-Agent, and then a valid key. The route checks the scope of the
 * key. Without a key, the session of a member who is signed in takes its place; a key wins over a session.
 */
export function authenticate(findCaller: FindCaller, findSession: FindSession): Middleware {
  return async (ctx, next) => {
    if (!ctx.get('user-agent').trim()) {
      throw new ApiError('validation_error', 'Missing `User-Agent` header.', { statusCode: 403 })
    }
    const authorization = headerValues(ctx.req, 'authorization')
    const session = authorization.length === 0 ? await readSession(ctx, findSession) : null
    if (session) {
      requireOwnPage(ctx)
      ctx.state.caller = callerOfSession(session)
      requireMayChange(ctx, session.role)
      return next()
    }
    const key = bearerKey(authorization)
    const caller = isWellFormedApiKey(key) ? await findCaller(key) : null
    if (!caller?.usable) throw new ApiError('invalid_api_key', 'API key is invalid, expired or revoked.')
    ctx.state.caller = caller
    await next()
  }
}

function bearerKey(authorization: string[]): string {
  const [value, another] = authorization
  // `Bearer` without a key is what a script sends if its variable is not set.
  if (!value || /^\s*(?:bearer\s*)?$/i.test(value))
    throw new ApiError('missing_api_key', 'Missing API key in the `Authorization` header.')
  const [, key] = /^bearer +(\S+)$/i.exec(value.trim()) ?? []
  return another === undefined && key ? key : ''
}

/** Responds to unknown paths outside /api. Callers with a valid key learn the right path: many clients omit /api at first. */
export function hintAtPrefix(findCaller: FindCaller): Middleware {
  return async ctx => {
    const [, key = ''] = /^bearer +(\S+)$/i.exec(ctx.get('authorization').trim()) ?? []
    const caller = isWellFormedApiKey(key) ? await findCaller(key) : null
    if (!caller?.usable) throw notFound('Route')
    const path = /^[\w/.@%-]{1,200}$/.test(ctx.path) ? ctx.path : '/...'
    throw new ApiError('not_found', `Route not found: the base URL ends in /api. Use ${ctx.method} /api${path}.`)
  }
}

/** Access to all operations except those that send: needs a key with full access. */
export const fullAccess: Middleware = (ctx, next) => {
  if (ctx.state.caller.permission !== 'full_access') {
    throw new ApiError('restricted_api_key', 'This API key may only send emails.')
  }
  return next()
}

/** Access to operations that send: every key has it. */
export const sendingAccess: Middleware = (_ctx, next) => next()

/** Access to operations that manage keys and members: no key has it, whatever its permission. */
export const dashboardOnly: Middleware = (ctx, next) => {
  if (ctx.state.caller.role === null) {
    throw new ApiError(
      'dashboard_only',
      'API keys cannot do this: it is for members who are signed in to the dashboard.',
    )
  }
  return next()
}

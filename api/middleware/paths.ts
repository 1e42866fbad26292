import type { Middleware } from '#api/context.ts'

/** Collapses repeated slashes: clients with a base URL that ends in a slash request `//emails`. */
export const collapseSlashes: Middleware = (ctx, next) => {
  if (ctx.path.includes('//')) ctx.path = ctx.path.replace(/\/{2,}/g, '/')
  return next()
}

/** Matches the path of a contact, up to its address. */
const CONTACT = /^\/+api\/+(?:audiences\/+[^/]+\/+)?contacts\/+/i

/**
 * Encodes slashes in the local part of an address, which RFC 5322, section 3.2.3 allows: SDKs put addresses into paths without
 * encoding them.
 */
export const keepSlashesOfAddress: Middleware = (ctx, next) => {
  const at = ctx.path.lastIndexOf('@')
  const [before] = at === -1 ? [] : (CONTACT.exec(ctx.path) ?? [])
  if (before && before.length < at) {
    ctx.path = before + ctx.path.slice(before.length, at).replaceAll('/', '%2F') + ctx.path.slice(at)
  }
  return next()
}

/** Ignores the case of the path, as the router does: otherwise `/API/...` would reach a route without authentication. */
const UNDER_API = /^\/api(?:\/|$)/i

/** Applies a middleware to requests of the API only. */
export function onlyUnderApi(middleware: Middleware): Middleware {
  return (ctx, next) => (UNDER_API.test(ctx.path) ? middleware(ctx, next) : next())
}

/** Applies routes outside the API to other requests only: trying their patterns takes several percent of the time of a request. */
export function exceptUnderApi(middleware: Middleware): Middleware {
  return (ctx, next) => (UNDER_API.test(ctx.path) ? next() : middleware(ctx, next))
}

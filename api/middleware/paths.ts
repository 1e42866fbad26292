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

/** For what all requests of the API need. */
export function onlyUnderApi(middleware: Middleware): Middleware {
  return (ctx, next) => (UNDER_API.test(ctx.path) ? middleware(ctx, next) : next())
}

/** For routes outside the API. Requests of the API need not try their patterns, which takes several percent of their time. */
export function exceptUnderApi(middleware: Middleware): Middleware {
  return (ctx, next) => (UNDER_API.test(ctx.path) ? next() : middleware(ctx, next))
}

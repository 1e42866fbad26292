import type { Middleware } from '#api/context.ts'

/** Collapses repeated slashes: clients with a base URL that ends in a slash request `//emails`. */
export const collapseSlashes: Middleware = (ctx, next) => {
  if (ctx.path.includes('//')) ctx.path = ctx.path.replace(/\/{2,}/g, '/')
  return next()
}

/** Matches the local part, up to the last `@`, of an address in the path of a contact. */
const ADDRESS = /^(\/+api\/+(?:audiences\/+[^/]+\/+)?contacts\/+)(.*\/.*)(?=@)/i

/** Encodes slashes in an address, which RFC 5322, section 3.2.3 allows: SDKs put addresses into paths without encoding them. */
export const keepSlashesOfAddress: Middleware = (ctx, next) => {
  ctx.path = ctx.path.replace(ADDRESS, (_, path: string, local: string) => path + local.replaceAll('/', '%2F'))
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

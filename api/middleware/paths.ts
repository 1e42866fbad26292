import type { Middleware } from '#api/context.ts'

/** A base URL that ends in a slash makes clients ask for `//emails`. */
export const collapseSlashes: Middleware = (ctx, next) => {
  if (ctx.path.includes('//')) ctx.path = ctx.path.replace(/\/{2,}/g, '/')
  return next()
}

/** Up to the last `@`, an address in the path of a contact. */
const ADDRESS = /^(\/+api\/+(?:audiences\/+[^/]+\/+)?contacts\/+)(.*\/.*)(?=@)/i

/** SDKs put an address into the path as it is: a slash in it (RFC 5322 3.2.3 allows one) separates nothing. */
export const keepSlashesOfAddress: Middleware = (ctx, next) => {
  ctx.path = ctx.path.replace(ADDRESS, (_, path: string, local: string) => path + local.replaceAll('/', '%2F'))
  return next()
}

import Router from '@koa/router'
import type { Services, State } from '#api/context.ts'
import type { Operation } from './operation.ts'

/** Makes the routes under /api. */
export function routerOf(operations: Operation[]): Router<State, Services> {
  const router = new Router<State, Services>({ prefix: '/api' })
  for (const { method, path, handlers } of routesOf(operations)) router.register(path, [method], handlers)
  return router
}

/** Lists the operations with each of their paths, in the order in which paths are tried. */
export function routesOf(operations: Operation[]): Operation[] {
  const routes = operations.flatMap(one => [one.path, ...(one.aliases ?? [])].map(path => ({ ...one, path })))
  return routes.sort(byPath)
}

/** A fixed part comes before a parameter in its place: `/domains/claim` is no id of a domain. */
function byPath(a: { path: string }, b: { path: string }): number {
  const [first, second] = [a, b].map(({ path }) => path.replaceAll(/:\w+/g, '\uffff')) as [string, string]
  return first < second ? -1 : Number(first > second)
}

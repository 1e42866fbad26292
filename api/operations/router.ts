import Router from '@koa/router'
import type { Services, State } from '#api/context.ts'
import type { FindErrors } from '#api/middleware/errors.ts'
import type { Operation } from './operation.ts'

/** Makes the routes under /api. */
export function routerOf(operations: Operation[]): Router<State, Services> {
  const router = new Router<State, Services>({ prefix: '/api' })
  for (const { id, method, path, handlers } of routesOf(operations)) {
    router.register(path, [method], handlers, { name: id })
  }
  router.match = rememberMatches(router)
  return router
}

/**
 * As `match` of a router, but remembers the result for paths without parameters, such as those that send: trying the patterns
 * of all operations takes several percent of such a request.
 */
function rememberMatches(router: Router<State, Services>): typeof router.match {
  const match = router.match.bind(router)
  const known = new Map<string, ReturnType<typeof match>>()
  return (path, method) => {
    const request = `${method} ${path}`
    let found = known.get(request)
    if (!found) {
      found = match(path, method)
      if (found.pathAndMethod[0]?.path === path) known.set(request, found)
    }
    return { ...found, path: [...found.path] } // the router adds matches of later routers to it
  }
}

/** Finds the names of the errors that the operation of a request declares, as a router of these operations matches them. */
export function createFindErrors(router: Router<State, Services>, operations: Operation[]): FindErrors {
  const names = new Map(operations.map(({ id, errors }) => [id, errors.map(({ name }) => name)]))
  return ({ method, path }) => names.get(router.match(path, method).pathAndMethod[0]?.name ?? '') ?? []
}

/** Returns an operation for each path, in the order in which paths are matched. */
export function routesOf(operations: Operation[]): Operation[] {
  const routes = operations.flatMap(one => [one.path, ...(one.aliases ?? [])].map(path => ({ ...one, path })))
  return routes.sort(byPath)
}

/** Sorts fixed parts before parameters, so that `/domains/claim` is not matched by `/domains/:id`. */
function byPath(a: { path: string }, b: { path: string }): number {
  const [first, second] = [a, b].map(({ path }) => path.replaceAll(/:\w+/g, '\uffff')) as [string, string]
  return first < second ? -1 : Number(first > second)
}

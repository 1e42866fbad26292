import { clientError } from '../error.ts'
import type { Caller } from './caller.ts'
import type { BatchOptions, Input, Options } from './options.ts'
import { type PageQuery, Pages } from './pages.ts'

/** Operations on one kind of record. */
export class Resource {
  protected readonly caller: Caller

  constructor(caller: Caller) {
    this.caller = caller
  }

  protected call<Answer>(method: string, path: string, input: Input, options?: BatchOptions): Promise<Answer> {
    return this.caller.json<Answer>(method, path, input, options)
  }

  protected pages<Item extends { id: string }>(path: string, query: PageQuery, options?: Options): Pages<Item> {
    return new Pages<Item>(query, page => this.caller.json('GET', path, { query: page }, options))
  }

  protected file(path: string, query: object, options?: Options): Promise<Response> {
    return this.caller.file('GET', path, { query }, options)
  }
}

/** Encodes an id or an address as a part of a path. An empty one is rejected, since the path would be that of the list. */
export function part(id: string): string {
  if (typeof id !== 'string' || id === '') throw clientError('An id must be a string that is not empty.')
  // URLs resolve these as relative steps.
  if (id === '.' || id === '..') throw clientError(`${JSON.stringify(id)} is not an id.`)
  return encodeURIComponent(id)
}

import type { Context } from '#api/context.ts'
import { callOperation, type Request } from '#api/operations/call_operation.ts'
import type { Operation } from '#api/operations/operation.ts'
import { operations } from '#api/routes/index.ts'
import { ApiError } from '#lib/errors.ts'
import { wire } from './wire.ts'

/**
 * Calls an operation of the API by its id. Access, validation and errors are those of an HTTP request. The result has the
 * values of the JSON response: dates are ISO 8601 strings.
 *
 * @throws {ApiError} the errors of the operation
 */
export type CallApi = <Result>(id: string, request?: Request) => Promise<Result>

const byId = new Map<string, Operation>(operations.map(one => [one.id, one]))

export function createCallApi(ctx: Context): CallApi {
  return async <Result>(id: string, request: Request = {}) => {
    const one = byId.get(id)
    if (!one) throw new Error(`There is no operation ${id}`)
    return wire(await callOperation(ctx, one, request)) as Result
  }
}

type Row = { id: string }
type Page<Found> = { has_more: boolean; data: Found[] }

/** Maximum number of items that a select offers. */
const MOST = 1_000

/** Returns the items of a list, newest first, whether or not the operation has pages by default. At most MOST. */
export async function listAll<Found extends Row>(call: CallApi, id: string): Promise<Found[]> {
  const found: Found[] = []
  for (let after: string | undefined; found.length < MOST; after = found.at(-1)?.id) {
    const query = { limit: '100', ...(after ? { after } : {}) }
    const { data, has_more } = await call<Page<Found>>(id, { query })
    found.push(...data)
    if (!has_more) break
  }
  return found
}

/** Returns null in place of the error `not_found`. */
export async function nullIfNotFound<Result>(result: Promise<Result>): Promise<Result | null> {
  return result.catch(error => {
    if (error instanceof ApiError && error.name === 'not_found') return null
    throw error
  })
}

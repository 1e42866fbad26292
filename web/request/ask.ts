import type { Context } from '#api/context.ts'
import { callOperation, type Request } from '#api/operations/call_operation.ts'
import type { Operation } from '#api/operations/operation.ts'
import { operations } from '#api/routes/index.ts'
import { ApiError } from '#lib/errors.ts'
import { wire } from './wire.ts'

/**
 * Calls an operation of the API by its id, with the access, checks and answers that a request would meet. Members of the
 * answer have the values that JSON would have after it is written and read: dates are ISO 8601 texts.
 *
 * @throws {ApiError} as the operation
 */
export type Ask = <Answer>(id: string, request?: Request) => Promise<Answer>

const byId = new Map<string, Operation>(operations.map(one => [one.id, one]))

export function createAsk(ctx: Context): Ask {
  return async <Answer>(id: string, request: Request = {}) => {
    const one = byId.get(id)
    if (!one) throw new Error(`There is no operation ${id}`)
    return wire(await callOperation(ctx, one, request)) as Answer
  }
}

/** Returns the answer, or null for what does not exist (any more). */
export async function orNull<Answer>(answer: Promise<Answer>): Promise<Answer | null> {
  return answer.catch(error => {
    if (error instanceof ApiError && error.name === 'not_found') return null
    throw error
  })
}

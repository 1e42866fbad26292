import type { EventEmitter } from 'node:events'
import { SharedBudget } from '#lib/async/shared_budget.ts'

const MEGABYTE = 1024 * 1024

/**
 * Limits of the bytes of bodies that a process holds in memory: in all, and per account. A body counts from before its first
 * byte is read until the response is sent; parsed, it takes several times its length. One account, whose bodies may arrive
 * slowly, always leaves room for the longest body of another. Bodies up to SHORT have a separate budget and never wait for
 * longer ones.
 */
const BUDGET = new SharedBudget(32 * MEGABYTE, 20 * MEGABYTE)
const SHORT_BUDGET = new SharedBudget(32 * MEGABYTE, 20 * MEGABYTE)
const SHORT = 64 * 1024

/** A body up to this length is read as a whole. Longer ones contain files or much html. */
export const SMALL = MEGABYTE

/** Longest time that a request waits before its body is read. */
const PATIENCE_MS = 20_000

/** There was no room for a body in time. */
export class NoRoomError extends Error {}

/** The request that a body belongs to, and its caller. */
export type BodyOwner = { req: EventEmitter; state: { caller: { account_id: string } } }

/** Waits until there is room for that many bytes of a request. Returns a function that frees it; calling it twice is safe. */
export async function holdBody({ req, state }: BodyOwner, bytes: number): Promise<() => void> {
  const budget = bytes > SHORT ? BUDGET : SHORT_BUDGET
  const release = budget.tryAcquire(state.caller.account_id, bytes)
  if (release) return release
  const end = new AbortController()
  const giveUp = (why: string) => end.abort(new NoRoomError(why))
  const timer = setTimeout(giveUp, PATIENCE_MS, 'too many bodies wait to be read')
  const onClose = () => giveUp('the client disconnected while it waited')
  req.once('close', onClose)
  try {
    return await budget.acquire(state.caller.account_id, bytes, end.signal)
  } finally {
    clearTimeout(timer)
    req.off('close', onClose)
  }
}

/** Room that a body holds in the budget of all bodies until the response is sent. */
export type Held = { release: () => void }

/**
 * Holds room for the JSON around the files: none up to SHORT bytes, then SMALL bytes, and `most` only beyond those. If it held
 * `most` from the start, a slow upload of one file with a little text would make other requests wait until it ends.
 */
export function holdAsItGrows(owner: BodyOwner, most: number, held: Held): (length: number) => Promise<void> {
  const releases: (() => void)[] = []
  let bytes = 0
  held.release = () => {
    for (const release of releases) release()
  }
  return async length => {
    const wanted = length <= SHORT ? 0 : length <= SMALL ? SMALL : most
    if (wanted <= bytes) return
    releases.push(await holdBody(owner, wanted - bytes))
    bytes = wanted
  }
}

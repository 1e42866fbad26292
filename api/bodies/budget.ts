import type { EventEmitter } from 'node:events'
import { SharedBudget } from '#lib/async/shared_budget.ts'

const MEGABYTE = 1024 * 1024

/**
 * Bytes of bodies that a process holds as a whole, from before the first is read until the request is answered: parsed,
 * they take several times as much. One account, whose bodies may arrive slowly, always leaves room for the longest body
 * of another. Bodies of a few KB have a budget of their own, so that they never wait for others.
 */
const BUDGET = new SharedBudget(32 * MEGABYTE, 20 * MEGABYTE)
const SHORT_BUDGET = new SharedBudget(32 * MEGABYTE, 20 * MEGABYTE)
const SHORT = 64 * 1024

/** A body is read as a whole up to this length: longer ones have files in them, or much html. */
export const SMALL = MEGABYTE

/** So long a request waits unread. */
const PATIENCE_MS = 20_000

/** There was no room for a body in time. */
export class NoRoomError extends Error {}

/** The request that a body belongs to, and who sends it. */
export type BodyOwner = { req: EventEmitter; state: { caller: { account_id: string } } }

/** Waits until there is room for so many bytes of a request. Returns what gives the room back, which may be called again. */
export async function holdBody({ req, state }: BodyOwner, bytes: number): Promise<() => void> {
  const budget = bytes > SHORT ? BUDGET : SHORT_BUDGET
  const release = budget.tryAcquire(state.caller.account_id, bytes)
  if (release) return release
  const end = new AbortController()
  const giveUp = (why: string) => end.abort(new NoRoomError(why))
  const timer = setTimeout(giveUp, PATIENCE_MS, 'too many bodies wait to be read')
  const onClose = () => giveUp('the client went away while it waited')
  req.once('close', onClose)
  try {
    return await budget.acquire(state.caller.account_id, bytes, end.signal)
  } finally {
    clearTimeout(timer)
    req.off('close', onClose)
  }
}

/** Room that a body holds in the budget of all bodies until it is answered. */
export type Held = { release: () => void }

/**
 * Holds room for what is around the files: none while it is short, then SMALL bytes, and `most` only beyond these. A slow
 * upload of one file and a few pages of text would else keep others waiting for as long as it takes.
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

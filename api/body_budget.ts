import type { EventEmitter } from 'node:events'
import { Semaphore } from '../lib/semaphore.ts'

/**
 * Bytes of bodies that a process holds as a whole, from before the first is read until the request is answered: parsed,
 * they take several times as much. Those of a few KB have a budget of their own, so that they never wait for others.
 */
const BUDGET = new Semaphore(32 * 1024 * 1024)
const SHORT_BUDGET = new Semaphore(32 * 1024 * 1024)
export const SHORT = 64 * 1024

/** So long a request waits unread. */
const PATIENCE_MS = 20_000

/** There was no room for a body in time. */
export class NoRoomError extends Error {}

/** Waits until there is room for so many bytes of a request. Returns what gives the room back, which may be called again. */
export async function holdBody(request: EventEmitter, bytes: number): Promise<() => void> {
  const budget = bytes > SHORT ? BUDGET : SHORT_BUDGET
  const end = new AbortController()
  const giveUp = (why: string) => end.abort(new NoRoomError(why))
  const timer = setTimeout(giveUp, PATIENCE_MS, 'too many bodies wait to be read')
  const onClose = () => giveUp('the client went away while it waited')
  request.once('close', onClose)
  try {
    await budget.acquire(bytes, end.signal)
  } finally {
    clearTimeout(timer)
    request.off('close', onClose)
  }
  let isHeld = true
  return () => {
    if (isHeld) budget.release(bytes)
    isHeld = false
  }
}

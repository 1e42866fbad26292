import { Semaphore } from '../lib/semaphore.ts'

/**
 * Bytes of bodies that a process holds as a whole, from before the first is read until the request is answered: parsed,
 * they take several times as much. Those of a few KB have a budget of their own, so that they never wait for others.
 */
const BUDGET = new Semaphore(32 * 1024 * 1024)
const SHORT_BUDGET = new Semaphore(32 * 1024 * 1024)
export const SHORT = 64 * 1024

/** So long a request waits unread. */
const PATIENCE_MS = 10_000

/** Too many bodies are being read already. */
export class TooManyBodiesError extends Error {}

/** Waits until there is room for a body of so many bytes. Returns what gives the room back, which may be called again. */
export async function holdBody(bytes: number): Promise<() => void> {
  const budget = bytes > SHORT ? BUDGET : SHORT_BUDGET
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(new TooManyBodiesError('too many bodies wait to be read')), PATIENCE_MS)
  await budget.acquire(bytes, late.signal).finally(() => clearTimeout(timer))
  let isHeld = true
  return () => {
    if (isHeld) budget.release(bytes)
    isHeld = false
  }
}

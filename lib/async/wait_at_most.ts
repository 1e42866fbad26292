import { setTimeout as sleep } from 'node:timers/promises'

/** Waits for the promise, at most `ms` milliseconds. */
export async function waitAtMost(ms: number, promise: Promise<unknown>): Promise<void> {
  const enough = new AbortController()
  const limit = sleep(ms, undefined, { signal: enough.signal }).catch(() => {})
  await Promise.race([promise, limit]).finally(() => enough.abort())
}

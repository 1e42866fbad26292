import { setTimeout as sleep } from 'node:timers/promises'
import { type Dispatcher, fetch } from 'undici'
import type { Stage } from './stage.ts'

export type Ask = <Body>(method: string, path: string, body?: object) => Promise<Body>

/** How long a request is repeated. */
const PATIENCE_MS = 60_000

/**
 * A client of the API with the key of the stage's account. Like a well-behaved client it repeats what an overloaded API asks to
 * repeat; it throws on every other refusal.
 */
export function callerOf(url: string, { account }: Pick<Stage, 'account'>, dispatcher?: Dispatcher): Ask {
  const headers = {
    authorization: `Bearer ${account.key}`,
    'user-agent': 'faults',
    'content-type': 'application/json',
  }
  return async (method, path, body) => {
    const options = { method, headers, body: body ? JSON.stringify(body) : null, ...(dispatcher && { dispatcher }) }
    for (const end = performance.now() + PATIENCE_MS; ; ) {
      const response = await fetch(`${url}/api${path}`, options)
      const text = await response.text()
      if (response.ok) return JSON.parse(text)
      const pause_ms = Number(response.headers.get('retry-after')) * 1_000
      const isRepeated = response.status >= 500 && pause_ms > 0 && performance.now() + pause_ms < end
      if (!isRepeated) throw new Error(`${method} ${path}: ${response.status} ${text}`)
      await sleep(pause_ms)
    }
  }
}

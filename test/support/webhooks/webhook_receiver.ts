import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { Test } from 'tap'
import type { WebhookTimes } from '#flows/webhooks/times.ts'
import { ALLOWED, startServer } from '#test/support/http/fetching.ts'

/** Moments instead of seconds and hours, except for the lease: see TEST_TIMES. */
export const HOOK_TIMES: WebhookTimes = {
  retry_seconds: [0.05, 0.05, 0.05, 0.05, 0.05, 0.05],
  attempt_ms: 2_000,
  lease_seconds: 40,
  heartbeat_ms: 1_500,
  poll_ms: 50,
  turn_ms: 10_000,
  drain_ms: 5_000,
  first_rest_seconds: 0.05,
  longest_rest_seconds: 0.1,
}

// biome-ignore lint/suspicious/noExplicitAny: the body has any shape
export type Posted = { path: string; headers: IncomingHttpHeaders; body: Buffer; json: any }

export type Hook = {
  port: number
  url: string
  /** Every request, stored before the response. */
  posted: Posted[]
  /** The first matching request, already received or later. */
  until(fits: (posted: Posted) => boolean): Promise<Posted>
  /** Sets the response from now on. Default 200. */
  answer(status: number | ((posted: Posted, response: ServerResponse) => void)): void
}

/** A real HTTP server that receives webhooks at `ALLOWED`. */
export async function startHook(t: Test): Promise<Hook> {
  const posted: Posted[] = []
  const watchers = new Set<() => void>()
  let reply: (posted: Posted, response: ServerResponse) => void = (_, response) => void response.writeHead(200).end()
  const port = await startServer(t, async (request, response) => {
    const body = await buffer(request)
    const one = { path: request.url ?? '', headers: request.headers, body, json: JSON.parse(body.toString()) }
    posted.push(one)
    for (const watch of watchers) watch()
    reply(one, response)
  })
  return {
    port,
    url: `http://${ALLOWED}:${port}/hook`,
    posted,
    until: fits =>
      new Promise(resolve => {
        const watch = () => {
          const found = posted.find(fits)
          if (!found) return
          watchers.delete(watch)
          resolve(found)
        }
        watchers.add(watch)
        watch()
      }),
    answer: status => {
      reply = typeof status === 'number' ? (_, response) => void response.writeHead(status).end() : status
    },
  }
}

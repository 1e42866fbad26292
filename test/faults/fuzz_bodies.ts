import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import { createApp } from '#api/app.ts'
import { createHttpServer } from '#api/server.ts'
import { statusOf } from '#lib/errors.ts'
import { openStage } from '#test/bench/support/stage.ts'
import { hostilePosts, type Post } from './hostile_bodies.ts'

/** How often each status and name was returned, and the ids of accepted emails. */
export type Answers = { counts: Record<string, number>; ids: Set<string>; slowest_ms: number }

const TOGETHER = 50

/** Posts this many hostile bodies, 50 at a time. Throws at the first response that no body may get, with the seed to repeat it. */
export async function fuzzBodies(
  { url, key, domain }: { url: string; key: string; domain: string },
  { count, seed }: { count: number; seed: number },
): Promise<Answers> {
  const answers: Answers = { counts: {}, ids: new Set(), slowest_ms: 0 }
  const prototype = Object.getOwnPropertyNames(Object.prototype).join()

  const post = async ({ text, headers }: Post): Promise<void> => {
    const start = performance.now()
    const init = { method: 'POST', headers: { authorization: `Bearer ${key}`, ...headers }, body: text }
    const { status, body } = await readJson(await fetch(`${url}/api/emails`, init))
    answers.slowest_ms = Math.max(answers.slowest_ms, performance.now() - start)
    const name = `${status} ${body.name ?? ''}`
    answers.counts[name] = (answers.counts[name] ?? 0) + 1
    if (status === 200) answers.ids.add(String(body.id))
    const fault = faultOf(status, body)
    if (fault) throw new Error(fault)
  }

  const together = fc.array(hostilePosts(domain), { minLength: TOGETHER, maxLength: TOGETHER })
  const property = fc.asyncProperty(together, async posts => {
    for (const outcome of await Promise.allSettled(posts.map(post)))
      if (outcome.status === 'rejected') throw outcome.reason
    if (Object.getOwnPropertyNames(Object.prototype).join() !== prototype)
      throw new Error('Object.prototype was changed')
  })
  await fc.assert(property, { numRuns: count / TOGETHER, seed, endOnFailure: true })
  return answers
}

async function readJson(response: Response): Promise<{ status: number; body: Record<string, unknown> }> {
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

/** Returns why this is neither a success nor a refusal of the API, or null. */
export function faultOf(status: number, body: Record<string, unknown>): string | null {
  if (status === 200 && typeof body.id === 'string') return null
  const isEnvelope = Object.keys(body).join() === 'statusCode,name,message' && body.statusCode === status
  const isRefusal = status >= 400 && status < 500 && String(body.name) in statusOf
  return isEnvelope && isRefusal ? null : `${status} ${JSON.stringify(body)}`
}

/**
 * Posts 100,000 hostile bodies, then reads back every accepted email.
 *
 *     node test/faults/fuzz_bodies.ts [bodies] [seed]
 */
async function main(): Promise<void> {
  const [count = 100_000, seed = Date.now() % 2 ** 31] = process.argv.slice(2).map(Number)
  const stage = await openStage()
  const server = createHttpServer(createApp(stage)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  try {
    const { ids, ...answers } = await fuzzBodies({ url, key: stage.key, domain: 'sandbox.internal' }, { count, seed })
    console.log({ seed, accepted: ids.size, ...answers })
    for (const id of ids) {
      const response = await fetch(`${url}/api/emails/${id}`, { headers: { authorization: `Bearer ${stage.key}` } })
      const { status, body } = await readJson(response)
      if (status !== 200 || body.id !== id) throw new Error(`${id}: ${status} ${JSON.stringify(body)}`)
    }
    console.log('passed')
  } finally {
    server.close()
    server.closeAllConnections()
    await stage.close()
  }
}

if (import.meta.main) await main()

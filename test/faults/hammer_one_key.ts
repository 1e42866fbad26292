import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { openStage, percentile } from '#test/bench/support/stage.ts'

/** How often each status was returned, which ids, and the duration of each response in milliseconds. */
export type Tally = { statuses: Record<number, number>; ids: Set<string>; times: number[] }

export type Hammering = { key: string; idempotency_key: string; email: object; requests: number; connections: number }

/** Posts one email with one Idempotency-Key again and again, to the servers in turn. */
export async function hammer(urls: string[], options: Hammering): Promise<Tally> {
  const agent = new Agent({ connections: Math.ceil(options.connections / urls.length) })
  const headers = { authorization: `Bearer ${options.key}`, 'user-agent': 'hammer' }
  const init = { method: 'POST', headers: { ...headers, 'idempotency-key': options.idempotency_key } } as const
  const tally: Tally = { statuses: {}, ids: new Set(), times: [] }
  let sent = 0

  const post = async (): Promise<void> => {
    while (sent < options.requests) {
      const url = urls[sent++ % urls.length]
      const start = performance.now()
      const answer = await request(`${url}/api/emails`, {
        ...init,
        body: JSON.stringify(options.email),
        dispatcher: agent,
      })
      const { id } = (await answer.body.json()) as { id?: string }
      tally.times.push(performance.now() - start)
      tally.statuses[answer.statusCode] = (tally.statuses[answer.statusCode] ?? 0) + 1
      if (id) tally.ids.add(id)
    }
  }

  await Promise.all(Array.from({ length: options.connections }, post))
  await agent.close()
  return tally
}

/**
 * Sends 10,000 requests with one key over 500 connections to two web processes, beside a worker. Prints the responses; fails
 * unless they created one email, delivered once.
 *
 *     node test/faults/hammer_one_key.ts [requests] [connections]
 */
async function main(): Promise<void> {
  const [requests = 10_000, connections = 500] = process.argv.slice(2).map(Number)
  const stage = await openStage()
  try {
    const ports = [4180, 4181]
    for (const port of ports) await stage.spawn('workers/web.ts', { PORT: String(port) })
    await stage.spawn('test/bench/support/worker.ts')

    const urls = ports.map(port => `http://127.0.0.1:${port}`)
    const email = { from: 'hammer@sandbox.internal', to: 'nail@sink.internal', subject: 'Once' }
    const { key } = stage
    const tally = await hammer(urls, { key, idempotency_key: 'one', email, requests, connections })
    await sleep(3_000) // for the worker, and for duplicates that must not come

    const { rows } = await stage.pool.pg.query(
      `SELECT (SELECT count(*) FROM emails) AS emails, (SELECT count(*) FROM deliveries) AS deliveries,
        (SELECT count(*) FROM captured_messages) AS sent, (SELECT count(*) FROM email_events) AS events`,
    )
    const p99 = Math.round(percentile(tally.times, 0.99))
    console.log({ statuses: tally.statuses, ids: tally.ids.size, p99, ...rows[0] })
    const { emails, deliveries, sent } = rows[0]
    const isRight = [emails, deliveries, sent, tally.ids.size].every(count => count === 1)
    const onlyExpected = Object.keys(tally.statuses).every(status => status === '200' || status === '409')
    if (!isRight || !onlyExpected || p99 > 5_000) process.exitCode = 1
    console.log(process.exitCode ? 'FAILED' : 'passed')
  } finally {
    await stage.close()
  }
}

if (import.meta.main) await main()

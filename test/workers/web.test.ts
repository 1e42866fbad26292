import t from 'tap'
import { request } from 'undici'
import { cutCommits } from '#test/faults/cut_commit.ts'
import { killWeb } from '#test/faults/kill_web.ts'
import { stopWeb, stopWebDuringUpload } from '#test/faults/stop_web.ts'
import { startPgProxy } from '#test/faults/support/pg_proxy.ts'
import { openTestStage, passes } from '#test/faults/support/test_stage.ts'
import { shows } from '#test/support/shows.ts'
import { waitUntil } from '#test/support/wait_until.ts'

t.test('a request can be repeated when its web process is killed around the commit', async t => {
  passes(t, await killWeb(await openTestStage(t), { runs: 1 }))
})

t.test('a commit whose reply is lost is not repeated', async t => {
  passes(t, await cutCommits(await openTestStage(t), { runs: 6, at_once: 5 }))
})

t.test('a stopped web process finishes requests in progress', async t => {
  passes(t, await stopWeb(await openTestStage(t), { stops: 1, connections: 16, load_ms: 500 }))
})

t.test('a stopped web process waits for an upload', async t => {
  passes(t, await stopWebDuringUpload(await openTestStage(t), { seconds: 2 }))
})

t.test('/readyz checks the database, /healthz only the process', async t => {
  const stage = await openTestStage(t)
  const proxy = await startPgProxy(stage.url)
  t.teardown(() => proxy.close())
  const { url } = await stage.startWeb({ DATABASE_URL: proxy.url, LOG_LEVEL: 'info' })
  t.strictSame(await ask(`${url}/readyz`), { status: 200, body: { status: 'ok' } })

  for (const [reason, away] of [
    ['the database does not respond', (on: boolean) => proxy.blackhole(on)],
    ['the database is not reachable', (on: boolean) => [proxy.refuse(on), proxy.cut()]],
  ] as const) {
    away(true)
    t.match(await ask(`${url}/readyz`), { status: 503, body: { reason } })
    t.strictSame(await ask(`${url}/healthz`), { status: 200, body: { status: 'ok' } })
    away(false)
    t.match(await ask(`${url}/readyz`), { status: 200 })
  }

  await stage.pool.pg.query('DELETE FROM migrations')
  t.match(await ask(`${url}/readyz`), { status: 503, body: { reason: 'migrations are not applied' } })
})

t.test('/readyz fails while the database is read-only, as a standby is', async t => {
  const stage = await openTestStage(t)
  const { url } = await stage.startWeb()
  const setReadOnly = async (value: string) => {
    const { rows } = await stage.pool.pg.query('SELECT current_database() AS name')
    await stage.pool.pg.query(`ALTER DATABASE ${rows[0].name} SET default_transaction_read_only = ${value}`)
  }
  await setReadOnly('on')
  await stage.pool.pg.query(
    `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
  )
  t.match(await ask(`${url}/readyz`), { status: 503, body: { reason: 'the database is read-only' } })
  t.match(await ask(`${url}/healthz`), { status: 200 })
  await stage.pool.pg.query('SET default_transaction_read_only = off')
  await setReadOnly('off')
  await waitUntil(async () => (await ask(`${url}/readyz`)).status === 200, 'its connections are replaced')
})

t.test('a process that cannot start prints the reason in one line and exits with 1', async t => {
  const stage = await openTestStage(t)
  await stage.pool.pg.query('DELETE FROM migrations WHERE name = (SELECT max(name) FROM migrations)')
  const wrong: [string, Record<string, string>, RegExp][] = [
    ['workers/worker.ts', {}, /not up to date.*npm run migrate/],
    ['workers/web.ts', {}, /not up to date.*npm run migrate/],
    ['workers/web.ts', { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }, /cannot be reached.*ECONNREFUSED/],
    ['workers/web.ts', { PORT: 'http' }, /^PORT: /],
  ]
  await Promise.all(
    wrong.map(async ([file, environment, line]) => {
      const child = stage.start(file, environment)
      const { code } = await child.ended
      shows(t, { code, lines: child.lines }, { code: 1, lines: [line] }, `${file} ${JSON.stringify(environment)}`)
      t.equal(child.lines.length, 1)
    }),
  )
})

async function ask(url: string): Promise<{ status: number; body: unknown }> {
  const { statusCode, body } = await request(url)
  return { status: statusCode, body: await body.json() }
}

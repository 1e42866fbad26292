import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { Listener } from '#sql/listener.ts'
import { startPgProxy } from '#test/faults/support/pg_proxy.ts'
import { createDatabase } from '#test/support/database/database.ts'

t.test('a listener closes at once although Postgres is silent', async t => {
  const proxy = await startPgProxy(await createDatabase(t))
  t.teardown(() => proxy.close())
  const listener = new Listener(proxy.url, 'batches', error => t.fail(error.message))
  await listener.follow('a batch')
  proxy.blackhole(true)
  const closed = listener.close().then(() => 'closed')
  t.equal(await Promise.race([closed, sleep(2_000, 'waits')]), 'closed')
})

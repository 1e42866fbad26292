import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { Listener } from '#sql/listener.ts'
import { startPgProxy } from '#test/faults/support/pg_proxy.ts'
import { createDatabase } from '#test/support/database/database.ts'
import { waitUntil } from '#test/support/wait_until.ts'

t.test('a listener closes at once although Postgres is silent', async t => {
  const proxy = await startPgProxy(await createDatabase(t))
  t.teardown(() => proxy.close())
  let isLost = false
  const listener = new Listener(proxy.url, 'batches', () => {
    isLost = true
  })
  // A busy machine may take longer to connect than the listener waits.
  const isConnected = async () => {
    isLost = false
    await listener.follow('a batch')
    return !isLost
  }
  await waitUntil(isConnected, 'the listener is connected')
  proxy.blackhole(true)
  const closed = listener.close().then(() => 'closed')
  t.equal(await Promise.race([closed, sleep(30_000, 'waits', { ref: false })]), 'closed')
})

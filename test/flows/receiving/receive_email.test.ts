import t from 'tap'
import { newId } from '#lib/ids.ts'
import { newReceiver, store } from '#test/support/receiving.ts'
import { openWork } from '#test/support/sending.ts'
import { openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const work = openWork(t, world, 'capture')
const raw = 'Message-ID: <1@y.com>\r\n\r\nHello'
const envelope = { mail_from: 'x@y.com', received_for: ['ann@moved.com'] }

const domainsOf = async ({ id }: { id: string }) =>
  (await world.pool.pg.query('SELECT domain_id FROM received_emails WHERE account_id = $1', [id])).rows

t.test('a message that the former account of a domain has received is stored for its new one', async t => {
  const [former, present] = [await newReceiver(world), await newReceiver(world)]
  for (const account of [former, present, present]) await store(work, account, raw, envelope)
  for (const account of [former, present]) t.strictSame(await domainsOf(account), [{ domain_id: account.domain_id }])
})

t.test('a message whose domain was deleted after its recipient was accepted is stored', async t => {
  const account = await newReceiver(world)
  await store(work, { ...account, domain_id: newId() }, raw, envelope)
  t.strictSame(await domainsOf(account), [{ domain_id: null }])
})

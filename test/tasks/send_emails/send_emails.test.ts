import t from 'tap'
import { acceptEmail, deliverEmails, openWork, readEmail } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)

t.test('send_emails captures an email and adds its events', async t => {
  const account = await newAccount(world)
  const work = openWork(t, world, 'capture')
  const id = await acceptEmail(world, account)

  await deliverEmails(work, [id])

  shows(t, await readEmail(world, account, id), {
    status: 'delivered',
    last_event: 'delivered',
    events: [{ type: 'sent' }, { type: 'delivered', recipient: 'x@y.com', via: 'capture' }],
    queue: undefined,
  })
})

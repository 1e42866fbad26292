import t from 'tap'
import { findWebhook } from '#sql/webhooks/webhooks.ts'
import { ALLOWED } from '#test/support/http/fetching.ts'
import { acceptEmail, deliverEmails, openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { addWebhook } from '#test/support/webhooks/add_webhook.ts'
import { startHook } from '#test/support/webhooks/webhook_receiver.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const hook = await startHook(t)
const world = await openWorld(t, { FETCH_ALLOW: ALLOWED, FETCH_PORTS: String(hook.port) })
const work = openWork(t, world)
work.webhooks.start()

t.test('a sent email is announced to the webhooks that subscribe to it', async t => {
  const account = await newAccount(world)
  const webhook = await addWebhook(world, account.id, { endpoint: hook.url, events: ['email.sent', 'email.delivered'] })
  const email_id = await acceptEmail(world, account, { tags: [{ name: 'a', value: 'b' }] })
  await deliverEmails(work, [email_id])

  const { json } = await hook.until(({ json }) => json.type === 'email.delivered' && json.data.email_id === email_id)
  shows(t, json, { data: { from: `hello@${account.domain}`, to: ['x@y.com'], subject: 'Hello', tags: { a: 'b' } } })
  await work.webhooks.idle()
  t.match(await findWebhook(world.pool, account.id, webhook.id), { failure_count: 0, last_delivery_status: 'success' })
})

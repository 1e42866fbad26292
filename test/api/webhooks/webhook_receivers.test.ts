import { createHmac } from 'node:crypto'
import { Resend } from 'resend'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { Webhook as Svix } from 'svix'
import t from 'tap'
import { acceptEmail, deliverEmails } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { openHistory } from '#test/support/webhooks/webhook_history.ts'
import { newAccount } from '#test/support/world.ts'

const { hook, world, account, api, work, add, announce, deliver } = await openHistory(t)

t.test('packages that verify webhooks accept the signatures of real deliveries', async t => {
  const owner = await newAccount(world)
  const { id, signing_secret } = await add(['email.delivered'], owner)
  const email = await acceptEmail(world, owner, {
    subject: 'Grüße 🦄 \u2028 "x" \\ Ω',
    from: `Jürgen <me@${owner.domain}>`,
  })
  await deliverEmails(work, [email])
  await deliver(id, owner)
  const { body, headers, json } = await hook.until(({ json }) => json.data?.email_id === email)

  t.match(json, { type: 'email.delivered', data: { subject: 'Grüße 🦄 \u2028 "x" \\ Ω' } })
  const given = headers as Record<string, string>
  const parts = {
    id: given['webhook-id'],
    timestamp: given['webhook-timestamp'],
    signature: given['webhook-signature'],
  }
  const resend = new Resend('re_x')
  const verifiers = {
    standardwebhooks: (raw: string, secret: string) => new StandardWebhook(secret).verify(raw, given),
    svix: (raw: string, secret: string) => new Svix(secret).verify(raw, given),
    resend: (payload: string, webhookSecret: string) =>
      resend.webhooks.verify({ payload, headers: parts as Required<typeof parts> as never, webhookSecret }),
  }
  const { signing_secret: another } = await add(['*'], owner)
  for (const [name, verify] of Object.entries(verifiers)) {
    t.strictSame(verify(body.toString(), signing_secret) ?? json, json, name) // svix returns nothing
    t.throws(() => verify(`${body} `, signing_secret), name)
    t.throws(() => verify(body.toString(), another), name)
  }
  const signed = createHmac('sha256', signing_secret).update(`${given['x-service-timestamp']}.${body}`).digest('hex')
  t.equal(given['x-service-signature'], signed)
  t.ok(Math.abs(Number(given['x-service-timestamp']) - Date.now() / 1_000) < 60)
})

t.test('the unmodified `resend` package manages webhooks', async t => {
  const { webhooks } = new Resend(account.key, { baseUrl: `${api.url}/api` })
  const must = <T>({ data, error }: { data: T | null; error: unknown }) => {
    t.equal(error, null)
    return data as T
  }
  await add() // an older one, so that the list has more
  const endpoint = `${hook.url}/sdk`
  const { id, signing_secret } = must(await webhooks.create({ endpoint, events: ['email.sent'] }))
  t.match(signing_secret, /^whsec_/)
  shows(t, must(await webhooks.get(id)), { object: 'webhook', id, endpoint, status: 'enabled', events: ['email.sent'] })
  shows(t, must(await webhooks.list({ limit: 1 })), { object: 'list', has_more: true, data: [{ id, endpoint }] })
  t.strictSame(must(await webhooks.update(id, { events: ['email.sent', 'email.bounced'] })), { object: 'webhook', id })
  const rotated = must(await webhooks.rotateSigningSecret(id))
  t.match(rotated, { object: 'webhook', id, signing_secret: /^whsec_/ })
  t.not(rotated.signing_secret, signing_secret)

  const [second = '', first = ''] = await announce(['email.sent', 'email.bounced'])
  await deliver(id)
  const page = must(await webhooks.events.list({ webhookId: id, limit: 1 }))
  shows(t, page, { object: 'list', has_more: true, data: [{ id: second, type: 'email.bounced', status: 'success' }] })
  const rest = must(await webhooks.events.list({ webhookId: id, after: second }))
  shows(t, rest, { has_more: false, data: [{ id: first }] })
  const named = { webhookId: id, eventId: first }
  t.match(must(await webhooks.events.get(named)), {
    object: 'webhook_event',
    payload: { type: 'email.sent', id: first },
  })
  t.strictSame(must(await webhooks.events.replay(named)), { object: 'webhook_event', id: first })
  await deliver(id)
  const attempts = must(await webhooks.events.attempts.list({ ...named, limit: 5 }))
  shows(t, attempts.data, [{ http_status_code: 200, response: '', sent_at: /Z$/ }, { http_status_code: 200 }])
  t.strictSame(must(await webhooks.remove(id)), { object: 'webhook', id, deleted: true })
  t.match(await webhooks.get(id), { data: null, error: { name: 'not_found', statusCode: 404 } })
})

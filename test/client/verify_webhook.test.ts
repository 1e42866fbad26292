import { createHmac } from 'node:crypto'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import t, { type Test } from 'tap'
import { MailbrookError, verifyWebhook } from '#client/source/index.ts'
import { shows } from '#test/support/shows.ts'
import { openHistory } from '#test/support/webhooks/webhook_history.ts'

const OTHER = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const { hook, account, add, announce, deliver } = await openHistory(t)

t.test('verifyWebhook accepts real deliveries by either signature', async t => {
  const { id, signing_secret } = await add(['email.sent'])
  const [event] = await announce(['email.sent'])
  await deliver(id, account)
  const { body, headers, json } = await hook.until(({ json }) => json.id === event)
  const own = Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith('webhook-')))
  const standard = Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith('x-service-')))
  const upper = Object.fromEntries(Object.entries(own).map(([name, value]) => [name.toUpperCase(), value]))
  const web = new Headers(standard as Record<string, string>)
  for (const [n, given] of [headers, own, standard, upper, web].entries()) {
    t.strictSame(await verifyWebhook(body, given, signing_secret), json, `${n}`)
    t.strictSame(await verifyWebhook(body.toString(), given, [OTHER, signing_secret]), json, `${n}, while rotating`)
    await refuses(t, verifyWebhook(`${body} `, given, signing_secret), 'The signature is wrong.')
    await refuses(t, verifyWebhook(body, given, OTHER), 'The signature is wrong.')
    await refuses(t, verifyWebhook(body, given, ''), 'A signing secret is needed.', 'client_error')
    await refuses(t, verifyWebhook(body, given, []), 'A signing secret is needed.', 'client_error')
  }
  for (const parsed of [json, null, undefined] as unknown as string[]) {
    const message = 'The body must be the raw body of the request, as text or bytes, before anything parses it.'
    await refuses(t, verifyWebhook(parsed, headers, signing_secret), message, 'client_error')
  }
  await refuses(t, verifyWebhook(body, {}, signing_secret), 'The request has no signature headers.')
  const moved = { ...standard, 'webhook-id': 'msg_2' }
  await refuses(t, verifyWebhook(body, moved, signing_secret), 'The signature is wrong.')
})

t.test('verifyWebhook refuses timestamps off by more than five minutes', async t => {
  const secret = `whsec_${Buffer.alloc(24, 1).toString('base64')}`
  const body = '{"id":"1","type":"test"}'
  for (const [seconds, isValid] of [
    [-290, true],
    [-310, false],
    [290, true],
    [310, false],
  ] as const) {
    const at = new Date(Date.now() + seconds * 1000)
    const timestamp = `${Math.floor(at.getTime() / 1000)}`
    const signature = new StandardWebhook(secret).sign('msg_1', at, body)
    const standard = { 'webhook-id': 'msg_1', 'webhook-timestamp': timestamp, 'webhook-signature': `v2,x ${signature}` }
    const hex = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')
    const own = { 'x-service-timestamp': timestamp, 'x-service-signature': hex }
    for (const given of [standard, own]) {
      const verified = verifyWebhook(body, given, secret)
      if (isValid) shows(t, await verified, { id: '1', type: 'test' })
      else await refuses(t, verified, 'The request is too old, or its time is in the future.')
    }
  }
  const never = { 'x-service-timestamp': 'NaN', 'x-service-signature': 'ff' }
  await refuses(t, verifyWebhook(body, never, secret), 'The request has no signature headers.')
})

async function refuses(
  t: Test,
  verified: Promise<unknown>,
  message: string,
  name: 'invalid_signature' | 'client_error' = 'invalid_signature',
): Promise<void> {
  const error = await verified.catch(error => error)
  t.ok(MailbrookError.is(error, name))
  t.equal((error as MailbrookError).message, message)
}

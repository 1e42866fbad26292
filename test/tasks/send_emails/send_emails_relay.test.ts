import t, { type Test } from 'tap'
import { setTransportFault } from '#sql/safety/platform.ts'
import { acceptEmail, deliverEmails, openWork, readEmail } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { type Inbox, startInbox } from '#test/support/smtp/inbox.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t, { SEND_CONNECTIONS: '20' })
const account = await newAccount(world)
const TRUSTING = '?tls.rejectUnauthorized=false'

t.test('a relay login uses STARTTLS and the password in the URL', async t => {
  const { inbox, logins } = await startRelay(t, { starttls: true })
  const email = await send(t, relayUrl(inbox, 'ann:s%3Acret%40%2F', TRUSTING))

  t.equal(email.status, 'delivered')
  t.strictSame(logins, [{ username: 'ann', password: 's:cret@/', secure: true }])
  t.equal(inbox.messages.length, 1)
})

t.test('a wrong relay password defers, with the reason in the queue', async t => {
  const { inbox } = await startRelay(t, { starttls: true })
  const email = await send(t, relayUrl(inbox, 'ann:wrong', TRUSTING))

  const reason = /^No connection to 127\.0\.0\.1:\d+: Invalid login: 535 /
  const queue = [{ state: 'queued', attempts: 1, reason, last_reply: /^535 .*invalid/i }]
  shows(t, email, { status: 'delivery_delayed', queue, events: [{ type: 'delivery_delayed', reply: /^535 / }] })
  t.equal(inbox.messages.length, 0)
})

t.test('a self-signed certificate is not trusted unless the URL allows it', async t => {
  const { inbox, logins } = await startRelay(t, { starttls: true })
  const email = await send(t, relayUrl(inbox, 'ann:s%3Acret%40%2F'))

  shows(t, email.queue, [{ state: 'queued', reason: /^No connection to .*certificate/, last_reply: null }])
  t.strictSame(logins, [], 'the password was not sent')
})

t.test('smtps uses TLS from the first byte', async t => {
  const { inbox, logins } = await startRelay(t, { secure: true })
  const email = await send(t, relayUrl(inbox, 'ann:s%3Acret%40%2F', TRUSTING).replace('smtp:', 'smtps:'))

  t.equal(email.status, 'delivered')
  shows(t, logins, [{ secure: true }])
})

t.test('requireTLS sends nothing to a relay without TLS', async t => {
  const inbox = await startInbox(t)
  const email = await send(t, `${inbox.url}?requireTLS=true`)

  shows(t, email.queue, [{ state: 'queued', reason: /^No connection to /, last_reply: /^50[02] / }])
  t.equal(inbox.messages.length, 0)
})

t.test('a relay that is down defers emails, and pauses after five failures', async t => {
  const inbox = await startInbox(t)
  await inbox.close()
  await setTransportFault(world.pool, null)
  const work = openWork(t, world, inbox.url)
  const ids = await Promise.all(
    Array.from({ length: 30 }, (_, i) => acceptEmail(world, account, { to: `u${i}@y.com` })),
  )
  await deliverEmails(work, ids)

  const reasons = await Promise.all(ids.map(async id => (await readEmail(world, account, id)).queue?.[0]?.reason ?? ''))
  const refused = reasons.filter(reason => /^No connection to 127\.0\.0\.1:\d+: connect ECONNREFUSED/.test(reason))
  const untried = reasons.filter(reason => /^Not tried after \d+ failures in a row\. No connection to/.test(reason))
  t.ok(refused.length >= 5 && refused.length <= 14, `${refused.length} tried: 4, and 10 at the same moment`)
  t.equal(refused.length + untried.length, 30)
})

t.test('no email is accepted while the relay rejects our password', async t => {
  await setTransportFault(world.pool, null)
  const { inbox, change } = await startRelay(t, { starttls: true })
  const work = openWork(t, world, relayUrl(inbox, 'ann:changed', TRUSTING))
  const [id = '', last = ''] = await Promise.all([acceptEmail(world, account), acceptEmail(world, account)])
  const deliver = async (id: string) => {
    await deliverEmails(work, [id])
  }

  await deliver(id)
  // Transport faults are written asynchronously.
  const isRefused = () =>
    acceptEmail(world, account).then(
      () => false,
      () => true,
    )
  await waitUntil(isRefused, 'the fault is noted')
  await t.rejects(acceptEmail(world, account), { name: 'sending_configuration_unavailable' })
  change('changed')
  await deliver(last)
  await waitUntil(() => acceptEmail(world, account).catch(() => false), 'the login is noted')
  shows(t, await readEmail(world, account, last), { status: 'delivered' })
})

t.test('an unreachable relay does not stop acceptance', async t => {
  await setTransportFault(world.pool, null)
  const inbox = await startInbox(t)
  await inbox.close()
  await send(t, inbox.url)
  await t.resolves(acceptEmail(world, account))
})

type Login = { username: unknown; password: unknown; secure: boolean }

/** A server that accepts mail only from ann. */
async function startRelay(t: Test, options: { starttls?: boolean; secure?: boolean }) {
  const logins: Login[] = []
  let right = 's:cret@/'
  const inbox = await startInbox(t, {
    ...options,
    authOptional: false,
    disabledCommands: [],
    onAuth: ({ username, password }, { secure }, callback) => {
      logins.push({ username, password, secure })
      if (password === right) callback(null, { user: 'ann' })
      else callback(Object.assign(new Error('Invalid credentials'), { responseCode: 535 }))
    },
  })
  const change = (password: string) => {
    right = password
  }
  return { inbox, logins, change }
}

function relayUrl({ url }: Inbox, login: string, query = ''): string {
  return url.replace('//', `//${login}@`) + query
}

async function send(t: Test, url: string) {
  const work = openWork(t, world, url)
  await setTransportFault(world.pool, null) // left by the previous relay
  const id = await acceptEmail(world, account)
  await deliverEmails(work, [id])
  return readEmail(world, account, id)
}

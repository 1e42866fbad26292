import t from 'tap'
import { createPrepareMessage } from '#flows/delivery/prepare/prepare_message.ts'
import { createDomain } from '#flows/domains/create_domain.ts'
import type { PresentedDomain } from '#flows/domains/find_domain.ts'
import { createLog } from '#lib/log.ts'
import { listDkimKeys } from '#sql/domains/dkim_keys.ts'
import { rotate_dkim_keys } from '#tasks/rotate_dkim_keys.ts'
import { verify_domain } from '#tasks/verify_domain.ts'
import { startApi } from '#test/support/api.ts'
import { ANYBODY } from '#test/support/delivering.ts'
import { startZone } from '#test/support/dns/name_server.ts'
import { publish } from '#test/support/dns/publish.ts'
import { passesOf, verdictsOf } from '#test/support/mail/dkim.ts'
import { acceptEmail, deliverEmails, openWork, TEST_TIMES } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { startInbox } from '#test/support/smtp/inbox.ts'
import { subscribe, takeEvents } from '#test/support/webhooks/webhook_events.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const { server, zone } = await startZone(t)
const inbox = await startInbox(t)
const world = await openWorld(t, { DNS_SERVERS: server, SERVER_DOMAIN: 'mail.server.com', MAIL_TRANSPORT: inbox.url })
const { pool } = world
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const logged: string[] = []
const log = createLog('warn', { write: line => void logged.push(line) })
const work = openWork(t, { ...world, log }, inbox.url, { times: { ...TEST_TIMES, keys_ms: 0 } })
const query = async (text: string, ...values: unknown[]) => (await pool.pg.query(text, values)).rows

t.test('mail is signed with RSA, and with Ed25519 once DNS has its record', async t => {
  const domain = await addDomain('partly.com')
  const hidden = hide(domain, 'mb1e')
  await check(domain.id)
  t.strictSame(await signaturesOf(domain), ['rsa-sha256 mb1 pass'])

  zone['mb1e._domainkey.partly.com'] = hidden
  await check(domain.id)
  t.strictSame(await signaturesOf(domain), passesOf(1))

  zone['mb1e._domainkey.partly.com'] = 'servfail'
  await check(domain.id)
  zone['mb1e._domainkey.partly.com'] = hidden
  t.strictSame(await signaturesOf(domain), passesOf(1), 'without DNS the record does not count as removed')

  hide(domain, 'mb1e')
  await check(domain.id)
  t.strictSame(await signaturesOf(domain), ['rsa-sha256 mb1 pass'])
})

t.test('POST /domains/:id/dkim/rotate makes keys once; each signs when DNS has it', async t => {
  const domain = await verifiedDomain('turning.com')
  await subscribe(world, account.id, ['domain.updated'])
  const countTold = async () => (await takeEvents(world, account.id)).filter(({ data }) => data.id === domain.id).length
  const before = domain.records.map(({ name }) => name)
  const answers = await Promise.all([rotate(domain.id), rotate(domain.id)])
  for (const { status } of answers) t.equal(status, 200)
  const rotated = (await rotate(domain.id)).body as unknown as PresentedDomain
  const added = rotated.records.filter(({ name }) => !before.includes(name))
  shows(t, added, [
    { record: 'DKIM', name: 'mb2._domainkey', value: /^v=DKIM1; k=rsa; p=/, status: 'not_started' },
    { record: 'DKIM', name: 'mb2e._domainkey', value: /^v=DKIM1; k=ed25519; p=/, status: 'not_started' },
  ])
  t.equal(added.length, 2, 'one of three requests created the keys')
  t.equal(await countTold(), 1)
  await check(domain.id)
  t.strictSame(await signaturesOf(domain), passesOf(1), 'the new keys are not published yet')
  t.equal(await countTold(), 0)

  publish(zone, { ...rotated, records: added.slice(1) })
  await check(domain.id)
  t.strictSame(await signaturesOf(domain), ['rsa-sha256 mb1 pass', 'ed25519-sha256 mb2e pass'])
  publish(zone, { ...rotated, records: added })
  t.equal(await countTold(), 1)
  await Promise.all([check(domain.id), check(domain.id)])
  t.equal(await countTold(), 1)
  t.strictSame(await signaturesOf(domain), passesOf(2))
  t.strictSame(await statesOf(domain.id), { mb1: 'retired', mb1e: 'retired', mb2: 'active', mb2e: 'active' })
  const { records } = (await api.request('GET', `/api/domains/${domain.id}`)).body as unknown as PresentedDomain
  t.strictSame(
    records.filter(({ record }) => record === 'DKIM').map(({ name, status }) => `${name} ${status}`),
    ['mb1', 'mb1e', 'mb2', 'mb2e'].map(selector => `${selector}._domainkey verified`),
    'the old records stay for what they signed',
  )
})

t.test('retired keys are listed for 7 days; selectors are never reused', async t => {
  const domain = await verifiedDomain('returning.com')
  for (const generation of [2, 3]) {
    publish(zone, (await rotate(domain.id)).body as unknown as PresentedDomain)
    await check(domain.id)
    const retired = Object.entries(await statesOf(domain.id)).filter(([, state]) => state === 'retired')
    t.strictSame(retired, [
      [`mb${generation - 1}`, 'retired'],
      [`mb${generation - 1}e`, 'retired'],
    ])
    await query(`UPDATE dkim_keys SET retired_at = now() - interval '6 days 23 hours' WHERE state = 'retired'`)
    await rotate_dkim_keys({}, work)
    t.equal(Object.keys(await statesOf(domain.id)).length, 4)
    await query(`UPDATE dkim_keys SET retired_at = now() - interval '7 days 1 second' WHERE state = 'retired'`)
    await rotate_dkim_keys({}, work)
    t.strictSame(await statesOf(domain.id), { [`mb${generation}`]: 'active', [`mb${generation}e`]: 'active' })
  }
  t.strictSame(await signaturesOf(domain), passesOf(3))
})

t.test('a retried email differs only in its signatures after key rotation', async t => {
  const domain = await verifiedDomain('again.com')
  const id = await acceptEmail(world, account, { from: 'a@again.com', html: '<p>Hi</p>' })
  const none = () => t.fail('it has no files') as never
  const prepare = createPrepareMessage({ ...world, fetchFiles: none, readBlob: none, keys_ms: 0 })
  const compose = async () => (await prepare({ account_id: account.id, id })).compose(ANYBODY)
  const before = await compose()
  publish(zone, (await rotate(domain.id)).body as unknown as PresentedDomain)
  t.ok(before.equals(await compose()), 'nothing has changed yet')
  await check(domain.id)
  const after = await compose()
  t.strictSame(await verdictsOf(before, server), passesOf(1))
  t.strictSame(await verdictsOf(after, server), passesOf(2))
  const [first, second] = [before, after].map(raw => raw.subarray(raw.indexOf('\r\nFrom: ')))
  t.strictSame(second, first)
})

t.test('rotation discards an Ed25519 key that was never published', async t => {
  const domain = await verifiedDomain('lazy.com')
  const rotated = (await rotate(domain.id)).body as unknown as PresentedDomain
  publish(zone, rotated)
  hide(rotated, 'mb2e')
  await check(domain.id)
  t.strictSame(await statesOf(domain.id), { mb1: 'retired', mb1e: 'active', mb2: 'active', mb2e: 'staged' })
  publish(zone, (await rotate(domain.id)).body as unknown as PresentedDomain)
  await check(domain.id)
  t.match(await statesOf(domain.id), {
    mb1e: 'retired',
    mb2: 'retired',
    mb2e: undefined,
    mb3: 'active',
    mb3e: 'active',
  })
  t.strictSame(await signaturesOf(domain), passesOf(3))
})

t.test('rotate refuses a domain that was never verified or is trusted', async t => {
  const domain = await addDomain('fresh.com')
  const refused = { status: 422, body: { name: 'validation_error' } }
  t.match(await rotate(domain.id), { ...refused, body: { message: /never verified/ } })
  const { id } = await createDomain(world, { account_id: account.id, name: 'vouched.com', is_trusted: true })
  t.match(await rotate(id), { ...refused, body: { message: /operator/ } })
  t.match(await rotate(account.id), { status: 404, body: { name: 'not_found' } })
  t.strictSame(await query(`SELECT FROM dkim_keys WHERE state = 'staged' AND domain_id IN ($1, $2)`, domain.id, id), [])
})

t.test('an unusable Ed25519 key stops nothing; an unusable RSA key stops sending', async t => {
  const domain = await verifiedDomain('broken.com')
  const spoil = (algorithm: string) =>
    query(`UPDATE dkim_keys SET private_key = 'x' WHERE domain_id = $1 AND algorithm = $2`, domain.id, algorithm)
  await spoil('ed25519-sha256')
  logged.length = 0
  t.strictSame(await signaturesOf(domain), ['rsa-sha256 mb1 pass'])
  t.match(JSON.parse(logged[0] ?? ''), { msg: 'a signing key cannot be used', domain: 'broken.com', selector: 'mb1e' })
  const unusable = `SELECT selector FROM dkim_keys WHERE domain_id = $1 AND unusable_at IS NOT NULL ORDER BY selector`
  t.strictSame(await query(unusable, domain.id), [{ selector: 'mb1e' }])
  t.strictSame(await signaturesOf(domain), ['rsa-sha256 mb1 pass'], 'the next email is accepted as well')

  await rotate(domain.id)
  await spoil('rsa-sha256') // both the active and the staged key
  const count = inbox.messages.length
  await send(domain)
  t.equal(inbox.messages.length, count)
  t.strictSame(await query(unusable, domain.id), [{ selector: 'mb1' }, { selector: 'mb1e' }])
  await t.rejects(
    send(domain),
    { name: 'sending_configuration_unavailable' },
    'a usable staged Ed25519 key does not help',
  )
})

t.test('DKIM_ROTATE_DAYS rotates older keys of domains proven by DNS', async t => {
  const rotating = { ...work, config: { ...work.config, DKIM_ROTATE_DAYS: 30 } }
  const [old, young, waiting] = await Promise.all(['old.com', 'young.com', 'waiting.com'].map(verifiedDomain))
  const trusted = await createDomain(world, { account_id: account.id, name: 'old.org', is_trusted: true })
  const ids = [old?.id, young?.id, waiting?.id, trusted.id]
  await rotate(waiting?.id ?? '')
  const stagedOf = async () => {
    const rows = await query(
      `SELECT d.name, array_agg(k.selector ORDER BY k.selector) AS staged FROM dkim_keys k
       JOIN domains d ON d.id = k.domain_id WHERE k.state = 'staged' AND d.id = ANY($1) GROUP BY d.name`,
      ids,
    )
    return Object.fromEntries(rows.map(({ name, staged }) => [name, staged]))
  }
  await query(`UPDATE dkim_keys SET activated_at = now() - interval '31 days' WHERE domain_id = ANY($1)`, ids)
  await query(`UPDATE dkim_keys SET activated_at = now() - interval '29 days' WHERE domain_id = $1`, young?.id)
  await rotate_dkim_keys({}, work)
  t.strictSame(await stagedOf(), { 'waiting.com': ['mb2', 'mb2e'] }, 'by default no rotation starts automatically')
  for (let run = 0; run < 2; run++) await rotate_dkim_keys({}, rotating)
  t.strictSame(await stagedOf(), { 'old.com': ['mb2', 'mb2e'], 'waiting.com': ['mb2', 'mb2e'] })
})

t.test('an older domain without Ed25519 gets a key, which signs once published', async t => {
  const domain = await verifiedDomain('elder.com')
  await query(`DELETE FROM dkim_keys WHERE domain_id = $1 AND algorithm = 'ed25519-sha256'`, domain.id)
  delete zone['mb1e._domainkey.elder.com']
  for (let run = 0; run < 2; run++) await rotate_dkim_keys({}, work)
  t.strictSame(await statesOf(domain.id), { mb1: 'active', mb1e: 'active' })
  t.strictSame(await signaturesOf(domain), ['rsa-sha256 mb1 pass'])
  publish(zone, (await api.request('GET', `/api/domains/${domain.id}`)).body as unknown as PresentedDomain)
  await check(domain.id)
  t.strictSame(await signaturesOf(domain), passesOf(1))
})

async function addDomain(name: string): Promise<PresentedDomain> {
  const { body } = await api.request('POST', '/api/domains', { body: { name } })
  publish(zone, body as unknown as PresentedDomain)
  await api.request('POST', `/api/domains/${body.id}/verify`)
  return body as unknown as PresentedDomain
}

async function verifiedDomain(name: string): Promise<PresentedDomain> {
  const domain = await addDomain(name)
  await check(domain.id)
  return domain
}

/** Takes the record of a key out of DNS; returns it. */
function hide({ name }: PresentedDomain, selector: string) {
  const records = zone[`${selector}._domainkey.${name}`]
  if (!records) throw new Error(`${selector} of ${name} was not published`)
  delete zone[`${selector}._domainkey.${name}`]
  return records
}

function rotate(id: string) {
  return api.request('POST', `/api/domains/${id}/dkim/rotate`)
}

async function check(domain_id: string): Promise<void> {
  await verify_domain({ account_id: account.id, domain_id }, work)
}

async function statesOf(domain_id: string): Promise<Record<string, string>> {
  const keys = await listDkimKeys(pool, account.id, domain_id)
  return Object.fromEntries(keys.map(({ selector, state }) => [selector, state]).sort())
}

async function send({ name }: PresentedDomain): Promise<void> {
  const id = await acceptEmail(world, account, { from: `a@${name}` })
  await deliverEmails(work, [id])
}

/** Sends a message; returns the verdicts of a receiver on its signatures. */
async function signaturesOf(domain: PresentedDomain): Promise<string[]> {
  const count = inbox.messages.length
  await send(domain)
  const { raw } = inbox.messages[count] ?? { raw: Buffer.of() }
  return verdictsOf(raw, server)
}

import t from 'tap'
import { createDomain } from '#flows/domains/create_domain.ts'
import type { PresentedDomain } from '#flows/domains/find_domain.ts'
import { activateTrustedKeys, rotateDkimKeys } from '#flows/domains/rotate_dkim_keys.ts'
import type { DomainClaim } from '#sql/domains/domain_claims.ts'
import { check_claim } from '#tasks/check_claim.ts'
import { rotate_dkim_keys } from '#tasks/rotate_dkim_keys.ts'
import { verify_domain } from '#tasks/verify_domain.ts'
import { startApi } from '#test/support/api.ts'
import { startZone } from '#test/support/dns/name_server.ts'
import { publish } from '#test/support/dns/publish.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newListener, takeEvents } from '#test/support/webhooks/webhook_events.ts'
import { openWorld, type TestAccount } from '#test/support/world.ts'

const { server, zone } = await startZone(t)
const world = await openWorld(t, { DNS_SERVERS: server, SERVER_DOMAIN: 'mail.server.com' })
const { pg } = world.pool
const work = openWork(t, world, 'capture')
const api = await startApi(t, world, '')

async function call<Body = PresentedDomain>({ key }: TestAccount, method: string, path: string, body?: unknown) {
  const answer = await api.request(method, `/api/domains${path}`, { key, body })
  return { status: answer.status, body: answer.body as unknown as Body }
}

/** Asserts that one event was announced since the last call, with the domain as GET shows it now. */
async function isTold(t: Tap, account: TestAccount, id: string, type: string): Promise<PresentedDomain> {
  const { body } = await call(account, 'GET', `/${id}`)
  t.strictSame(await takeEvents(world, account.id), [{ type, data: body }])
  return body
}
type Tap = Pick<typeof t, 'strictSame'>

async function addDomain(t: Tap, account: TestAccount, name: string): Promise<PresentedDomain> {
  const { body } = await call(account, 'POST', '', { name })
  return isTold(t, account, body.id, 'domain.created')
}

const check = ({ id: account_id }: TestAccount, domain_id: string) => verify_domain({ account_id, domain_id }, work)

t.test('each change of a domain is announced as GET shows it', async t => {
  const account = await newListener(world)
  const { id, records } = await addDomain(t, account, 'told.com')
  t.equal(records.length, 5)

  await call(account, 'POST', `/${id}/verify`)
  shows(t, await isTold(t, account, id, 'domain.updated'), { status: 'pending' })
  await call(account, 'POST', `/${id}/verify`)
  await check(account, id)
  t.strictSame(await takeEvents(world, account.id), [], 'the domain is unchanged')

  publish(zone, { name: 'told.com', records })
  await check(account, id)
  const records_verified = Array(5).fill({ status: 'verified' })
  shows(t, await isTold(t, account, id, 'domain.updated'), { status: 'verified', records: records_verified })
  await call(account, 'PATCH', `/${id}`, { capabilities: { receiving: 'enabled' } })
  shows(t, await isTold(t, account, id, 'domain.updated'), { status: 'partially_verified', records: { length: 6 } })

  delete zone['send.told.com']
  await check(account, id)
  shows(t, await isTold(t, account, id, 'domain.updated'), { status: 'partially_failed' })
  await pg.query(`UPDATE domains SET window_since = now() - interval '72 hours' WHERE id = $1`, [id])
  await check(account, id)
  const failed = await isTold(t, account, id, 'domain.updated')
  t.equal(failed.status, 'failed')

  t.equal((await call(account, 'DELETE', `/${id}`)).status, 200)
  t.strictSame(await takeEvents(world, account.id), [{ type: 'domain.deleted', data: failed }])
  t.equal((await call(account, 'DELETE', `/${id}`)).status, 404)
  t.strictSame(await takeEvents(world, account.id), [])
})

t.test('a refused change of a domain is not announced', async t => {
  const account = await newListener(world)
  await pg.query(`UPDATE domains SET paused_at = now(), pause_reason = 'x' WHERE id = $1`, [account.domain_id])
  t.equal((await call(account, 'DELETE', `/${account.domain_id}`)).status, 403)
  t.equal((await call(account, 'POST', '', { name: account.domain })).status, 422)
  t.equal((await call(account, 'PATCH', `/${account.domain_id}`, { tls: 'x' })).status, 422)
  t.strictSame(await takeEvents(world, account.id), [])
})

t.test('no domain event is stored without a subscription to its type', async t => {
  const account = await newListener(world, ['domain.deleted', 'email.sent'])
  const { body } = await call(account, 'POST', '', { name: 'unheard.com' })
  await call(account, 'PATCH', `/${body.id}`, { tls: 'enforced' })
  t.strictSame(await takeEvents(world, account.id), [])
  await call(account, 'DELETE', `/${body.id}`)
  shows(t, await takeEvents(world, account.id), [{ type: 'domain.deleted', data: { id: body.id, tls: 'enforced' } }])
})

t.test('new, staged, activated and removed DKIM keys are announced as domain.updated', async t => {
  const account = await newListener(world)
  await rotate_dkim_keys({}, work)
  const { records: completed } = await isTold(t, account, account.domain_id, 'domain.updated')
  shows(t, completed, [
    { record: 'DKIM' },
    { record: 'DKIM', value: /k=ed25519/ },
    { record: 'SPF' },
    { record: 'SPF' },
    { record: 'DMARC' },
  ])
  const { id, records } = await addDomain(t, account, 'keys.com')
  publish(zone, { name: 'keys.com', records })
  await call(account, 'POST', `/${id}/verify`)
  await check(account, id)
  await takeEvents(world, account.id)

  await call(account, 'POST', `/${id}/dkim/rotate`)
  const staged = await isTold(t, account, id, 'domain.updated')
  t.equal(staged.records.length, records.length + 2)
  t.notOk(JSON.stringify(staged).includes('private'))
  await call(account, 'POST', `/${id}/dkim/rotate`)
  t.strictSame(await takeEvents(world, account.id), [], 'they are the same keys')

  publish(zone, staged)
  await check(account, id)
  await isTold(t, account, id, 'domain.updated')
  await pg.query(
    `UPDATE dkim_keys SET retired_at = now() - interval '8 days' WHERE domain_id = $1 AND state = 'retired'`,
    [id],
  )
  await rotate_dkim_keys({}, work)
  t.equal((await isTold(t, account, id, 'domain.updated')).records.length, records.length)
})

t.test('changes of a trusted domain are announced too', async t => {
  const account = await newListener(world)
  const { id } = await createDomain(world, { account_id: account.id, name: 'vouched.com', is_trusted: true })
  shows(t, await isTold(t, account, id, 'domain.created'), { status: 'verified' })
  const owner = { account_id: account.id, domain_id: id }
  await rotateDkimKeys(world, owner, 'operator')
  await isTold(t, account, id, 'domain.updated')
  t.equal(await activateTrustedKeys(world, owner), true)
  await isTold(t, account, id, 'domain.updated')
  t.equal(await activateTrustedKeys(world, owner), false)
  t.strictSame(await takeEvents(world, account.id), [])
})

t.test('a completed claim is announced to both accounts', async t => {
  const [owner, claimant] = [await newListener(world), await newListener(world)]
  const claimed = await call<DomainClaim>(claimant, 'POST', '/claim', { name: owner.domain })
  const { id, domain_id, record } = claimed.body
  const before = await isTold(t, claimant, domain_id, 'domain.created')
  zone[record.name] = { TXT: [record.value] }
  await check_claim({ account_id: claimant.id, claim_id: id }, work)

  const after = await isTold(t, claimant, domain_id, 'domain.updated')
  t.equal(after.status, 'pending')
  t.not(after.records[0]?.value, before.records[0]?.value, 'the event shows the new keys')
  shows(t, await isTold(t, owner, owner.domain_id, 'domain.updated'), { status: 'failed' })
})

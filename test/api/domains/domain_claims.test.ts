import t from 'tap'
import type { PresentedDomain } from '#flows/domains/find_domain.ts'
import { createDns } from '#lib/net/dns.ts'
import type { DomainClaim } from '#sql/domains/domain_claims.ts'
import { lockNames } from '#sql/domains/domain_conflicts.ts'
import { sql } from '#sql/pool.ts'
import { check_claim } from '#tasks/check_claim.ts'
import { verify_domain } from '#tasks/verify_domain.ts'
import { startApi } from '#test/support/api.ts'
import { begin, untilBlocked } from '#test/support/database/locks.ts'
import { PATIENT_TIMES, startZone } from '#test/support/dns/name_server.ts'
import { publish } from '#test/support/dns/publish.ts'
import { acceptEmail, openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld, type TestAccount } from '#test/support/world.ts'

const { server, zone } = await startZone(t)
const world = await openWorld(t, { DNS_SERVERS: server, SERVER_DOMAIN: 'mail.server.com' })
const { pool } = world
const api = await startApi(t, world, '')
const dns = createDns([server], PATIENT_TIMES)
const work = { ...openWork(t, world, 'capture'), dns }
const query = (text: string, values: unknown[]) => pool.pg.query(text, values).then(result => result.rows)

const call = async (account: TestAccount, method: string, path: string, body?: unknown) => {
  const answer = await api.request(method, `/api${path}`, { key: account.key, body })
  return { status: answer.status, body: answer.body as unknown as DomainClaim & { message: string } }
}

const claim = (account: TestAccount, name: string) => call(account, 'POST', '/domains/claim', { name })
const read = async (account: TestAccount, { domain_id }: DomainClaim) =>
  (await call(account, 'GET', `/domains/${domain_id}/claim`)).body
const statusOf = async (account: TestAccount, domain_id: string) =>
  (await call(account, 'GET', `/domains/${domain_id}`)).body.status as string

/** An owner with a verified domain, and another account that has claimed it. */
async function contend() {
  const [owner, claimant] = [await newAccount(world), await newAccount(world)]
  const { body } = await claim(claimant, owner.domain)
  return { owner, claimant, claimed: body }
}

function prove(...claims: DomainClaim[]): void {
  for (const { record } of claims) zone[record.name] = { TXT: ['other', ...claims.map(claim => claim.record.value)] }
}

async function publishOwner({ key, domain_id }: TestAccount): Promise<void> {
  const { body } = await api.request('GET', `/api/domains/${domain_id}`, { key })
  publish(zone, body as unknown as PresentedDomain)
}

async function check(account: TestAccount, { id }: DomainClaim): Promise<void> {
  await check_claim({ account_id: account.id, claim_id: id }, work)
}

const move = ({ id }: DomainClaim, column: 'proven_at' | 'expires_at', ago: string) =>
  query(`UPDATE domain_claims SET ${column} = now() - $1::interval WHERE id = $2`, [ago, id])

t.test('POST /domains/claim makes one claim, with its own domain and TXT record', async t => {
  const { owner, claimant, claimed } = await contend()
  shows(t, claimed, {
    object: 'domain_claim',
    name: owner.domain,
    status: 'pending',
    region: 'us-east-1',
    record: { type: 'TXT', name: owner.domain, value: /^mb-domain-verification=[\w-]{43}$/, ttl: 'Auto' },
    blocked_reason: null,
    failure_reason: null,
  })
  t.equal(Date.parse(String(claimed.expires_at)) - Date.parse(String(claimed.created_at)), 7 * 24 * 60 * 60_000)
  t.equal(await statusOf(claimant, claimed.domain_id), 'not_started')
  t.match(await claim(claimant, owner.domain.toUpperCase()), { status: 200, body: { id: claimed.id } })
  t.strictSame(await read(claimant, claimed), claimed)
  t.match(await call(owner, 'GET', `/domains/${owner.domain_id}/claim`), { status: 404 })
})

t.test('POST /domains/claim returns an open claim after its owner has lost the name', async t => {
  const { owner, claimant, claimed } = await contend()
  await query(`UPDATE domains SET status = 'failed' WHERE id = $1`, [owner.domain_id])
  t.match(await claim(claimant, owner.domain), { status: 200, body: { id: claimed.id } })
  await move(claimed, 'expires_at', '1 hour')
  t.match(await claim(claimant, owner.domain), { status: 422 })
})

t.test('concurrent claims of one account make one claim', async t => {
  const [owner, claimant] = [await newAccount(world), await newAccount(world)]
  const answers = await Promise.all([claim(claimant, owner.domain), claim(claimant, owner.domain)])
  t.strictSame(answers.map(({ status }) => status).sort(), [200, 201])
  t.equal(answers[0]?.body.id, answers[1]?.body.id)
})

t.test('a claim uses the unverified domain that its account already has', async t => {
  const [owner, claimant] = [await newAccount(world), await newAccount(world)]
  await query(`INSERT INTO domains (account_id, id, name, status) VALUES ($1, gen_random_uuid(), $2, 'failed')`, [
    claimant.id,
    owner.domain,
  ])
  const [before] = await query('SELECT id FROM domains WHERE account_id = $1 AND name = $2', [
    claimant.id,
    owner.domain,
  ])
  t.match(await claim(claimant, owner.domain), { status: 201, body: { domain_id: before.id } })
})

t.test('POST /domains/claim refuses names that cannot be claimed', async t => {
  const [owner, claimant] = [await newAccount(world), await newAccount(world)]
  const trusted = await newAccount(world)
  await query('UPDATE domains SET is_trusted = true WHERE id = $1', [trusted.domain_id])
  const refused = async (name: unknown, status: number, error: string, message: RegExp) =>
    t.match(await call(claimant, 'POST', '/domains/claim', { name }), { status, body: { name: error, message } })
  await refused('nobody-has-this.com', 422, 'validation_error', /add it with POST \/domains/)
  await refused(claimant.domain, 422, 'validation_error', /^This account has verified /)
  await refused(`sub.${owner.domain}`, 409, 'domain_conflict', /above or below/)
  await refused('acme.com', 409, 'domain_conflict', /above or below/)
  await refused(trusted.domain, 409, 'domain_conflict', /belongs to another account and cannot be claimed/)
  await refused('not a name', 422, 'validation_error', /not a domain name/)
  await refused(undefined, 422, 'missing_required_field', /name/)
  await refused(7, 422, 'validation_error', /name/)
  t.strictSame(await query('SELECT FROM domain_claims WHERE account_id = $1', [claimant.id]), [])
})

t.test('a proven claim takes over an unused name, with new DKIM keys', async t => {
  const { owner, claimant, claimed } = await contend()
  t.match(await call(claimant, 'POST', `/domains/${claimed.domain_id}/claim/verify`), {
    status: 200,
    body: { id: claimed.id },
  })
  const [job] = await query(`SELECT FROM graphile_worker.jobs WHERE key = $1`, [`check_claim:${claimed.id}`])
  t.ok(job)
  await check(claimant, claimed)
  shows(t, await read(claimant, claimed), { status: 'pending' }, 'nothing is published')

  prove(claimed)
  await check(claimant, claimed)
  shows(t, await read(claimant, claimed), { status: 'completed', blocked_reason: null })
  t.equal(await statusOf(owner, owner.domain_id), 'failed')
  t.equal(await statusOf(claimant, claimed.domain_id), 'pending')
  const keys = await query('SELECT selector FROM dkim_keys WHERE domain_id = $1 ORDER BY 1', [claimed.domain_id])
  t.strictSame(keys, [{ selector: 'mb2' }, { selector: 'mb2e' }])
  const [verify] = await query(`SELECT FROM graphile_worker.jobs WHERE key = $1`, [
    `verify_domain:${claimed.domain_id}`,
  ])
  t.ok(verify)

  await publishOwner({ ...claimant, domain_id: claimed.domain_id })
  await verify_domain({ account_id: claimant.id, domain_id: claimed.domain_id }, work)
  t.equal(await statusOf(claimant, claimed.domain_id), 'verified')
  await acceptEmail(world, { ...claimant, domain: owner.domain })
  await t.rejects(acceptEmail(world, owner))
  shows(t, await call(claimant, 'POST', `/domains/${claimed.domain_id}/claim/verify`), {
    body: { status: 'completed' },
  })
})

t.test('scheduled mail, recent mail and records of the owner block a claim', async t => {
  const { owner, claimant, claimed } = await contend()
  await publishOwner(owner)
  prove(claimed)
  const scheduled = await acceptEmail(world, owner, { scheduled_at: 'in 2 hours' })
  const sent = await acceptEmail(world, owner)
  const blocked = async () => {
    await check(claimant, claimed)
    const { status, blocked_reason } = await read(claimant, claimed)
    return status === 'blocked' ? blocked_reason : status
  }
  t.equal(await blocked(), 'pending_scheduled_emails')
  await call(owner, 'POST', `/emails/${scheduled}/cancel`)
  t.equal(await blocked(), 'recent_owner_activity')
  await query('DELETE FROM emails WHERE id = $1', [sent])
  t.equal(await blocked(), 'grace_period')
  zone[`send.${owner.domain}`] = 'servfail'
  t.equal(await blocked(), 'grace_period', 'without DNS the records do not count as removed')
  delete zone[`send.${owner.domain}`]
  t.equal(await blocked(), 'completed')
})

t.test('a claim proven for 72 hours completes although the owner is active', async t => {
  const { owner, claimant, claimed } = await contend()
  prove(claimed)
  await acceptEmail(world, owner)
  await check(claimant, claimed)
  await move(claimed, 'proven_at', '71 hours 59 minutes')
  await check(claimant, claimed)
  shows(t, await read(claimant, claimed), { status: 'blocked' })

  await move(claimed, 'proven_at', '72 hours')
  zone[owner.domain] = 'silent'
  await check(claimant, claimed)
  shows(t, await read(claimant, claimed), { status: 'blocked' }, 'the lookup fails')
  zone[owner.domain] = { TXT: ['other'] }
  await check(claimant, claimed)
  shows(t, await read(claimant, claimed), { status: 'pending', blocked_reason: null }, 'its proof starts again')
  t.equal(await statusOf(owner, owner.domain_id), 'verified')

  prove(claimed)
  await check(claimant, claimed)
  shows(t, await read(claimant, claimed), { status: 'blocked' })
  await move(claimed, 'proven_at', '72 hours')
  await publishOwner(owner)
  await check(claimant, claimed)
  shows(t, await read(claimant, claimed), { status: 'completed' })
  t.equal(await statusOf(owner, owner.domain_id), 'failed')

  shows(t, await call(owner, 'POST', `/domains/${owner.domain_id}/verify`), { body: { status: 'pending' } })
  await verify_domain({ account_id: owner.id, domain_id: owner.domain_id }, work)
  t.equal(await statusOf(owner, owner.domain_id), 'pending', 'the records published before no longer prove anything')
})

t.test('a proven claim completes at once when the owner deletes the domain', async t => {
  const { owner, claimant, claimed } = await contend()
  await acceptEmail(world, owner)
  prove(claimed)
  await check(claimant, claimed)
  shows(t, await read(claimant, claimed), { status: 'blocked', blocked_reason: 'recent_owner_activity' })
  await call(owner, 'DELETE', `/domains/${owner.domain_id}`)
  await check(claimant, claimed)
  shows(t, await read(claimant, claimed), { status: 'completed', blocked_reason: null })
  t.equal(await statusOf(claimant, claimed.domain_id), 'pending')
})

t.test('an unproven claim expires; a proven one does not', async t => {
  const { owner, claimant, claimed } = await contend()
  await move(claimed, 'expires_at', '1 second')
  const again = await claim(claimant, owner.domain)
  t.equal(again.status, 201)
  t.not(again.body.id, claimed.id)
  await move(again.body, 'expires_at', '1 second')
  await check(claimant, again.body)
  shows(t, await read(claimant, again.body), { status: 'expired' })

  const { body: third } = await claim(claimant, owner.domain)
  prove(third)
  await acceptEmail(world, owner)
  await check(claimant, third)
  await move(third, 'expires_at', '1 second')
  await check(claimant, third)
  shows(t, await read(claimant, third), { status: 'blocked' })
})

t.test('a claim is deleted with its domain', async t => {
  const { owner, claimant, claimed } = await contend()
  t.match(await call(claimant, 'DELETE', `/domains/${claimed.domain_id}`), { status: 200 })
  t.match(await call(claimant, 'GET', `/domains/${claimed.domain_id}/claim`), { status: 404 })
  prove(claimed)
  await check(claimant, claimed)
  t.equal(await statusOf(owner, owner.domain_id), 'verified')
})

t.test('only one of two accounts that prove a claim at once gets the domain', async t => {
  const { owner, claimant, claimed } = await contend()
  const rival = await newAccount(world)
  const { body: rivals } = await claim(rival, owner.domain)
  prove(claimed, rivals)
  await Promise.all([check(claimant, claimed), check(rival, rivals)])
  const statuses = [(await read(claimant, claimed)).status, (await read(rival, rivals)).status]
  t.strictSame(statuses.sort(), ['completed', 'superseded'])
})

t.test('a claim fails when the operator vouches for the owner', async t => {
  const { owner, claimant, claimed } = await contend()
  prove(claimed)
  await query('UPDATE domains SET is_trusted = true WHERE id = $1', [owner.domain_id])
  await check(claimant, claimed)
  shows(t, await read(claimant, claimed), {
    status: 'failed',
    failure_reason: /operator/,
  })
  t.equal(await statusOf(owner, owner.domain_id), 'verified')
})

t.test('a claim whose owner loses the name during a check completes at the next one', async t => {
  const { owner, claimant, claimed } = await contend()
  prove(claimed)
  const lost = await begin(world, async tx => {
    await lockNames(tx, owner.domain)
    await tx.run(sql.unsafe`UPDATE domains SET status = 'failed' WHERE id = ${owner.domain_id}`)
  })
  const checking = check(claimant, claimed)
  await untilBlocked(world, '%pg_advisory_xact_lock%')
  await lost.commit()
  await checking
  shows(t, await read(claimant, claimed), { status: 'verified' }, 'its keys are for another owner')
  await check(claimant, claimed)
  shows(t, await read(claimant, claimed), { status: 'completed' })
  const keys = await query('SELECT max(generation) AS newest FROM dkim_keys WHERE domain_id = $1', [owner.domain_id])
  t.strictSame(keys, [{ newest: 1 }], 'the former owner gets no keys')
})

t.test('a claim is blocked by mail that the owner is sending at that moment', async t => {
  const { owner, claimant, claimed } = await contend()
  prove(claimed)
  const accepted = Promise.withResolvers<void>()
  const checking = accepted.promise.then(() => check(claimant, claimed)) // outside the transaction, to use the pool
  await pool.transaction(async tx => {
    await acceptEmail({ ...world, pool: { ...pool, ...tx } }, owner)
    accepted.resolve()
    await untilBlocked(world)
  })
  await checking
  shows(t, await read(claimant, claimed), { status: 'blocked', blocked_reason: 'recent_owner_activity' })
  t.equal(await statusOf(owner, owner.domain_id), 'verified')
})

import { run } from 'graphile-worker'
import t from 'tap'
import { makeDomain, storeDomain } from '#flows/domains/create_domain.ts'
import { findDomainWithRecords } from '#flows/domains/find_domain.ts'
import { requestVerification } from '#flows/domains/request_verification.ts'
import { newId } from '#lib/ids.ts'
import { createDns } from '#lib/net/dns.ts'
import { silentLogger } from '#sql/graphile.ts'
import { check_domains } from '#tasks/check_domains.ts'
import { taskList } from '#tasks/index.ts'
import { verify_domain } from '#tasks/verify_domain.ts'
import { PATIENT_TIMES, SHORT_TIMES, startZone } from '#test/support/dns/name_server.ts'
import { publish } from '#test/support/dns/publish.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount, openWorld, type TestAccount } from '#test/support/world.ts'

const SERVER = 'mail.server.com'
const { server, zone, asked } = await startZone(t)
const world = await openWorld(t, { DNS_SERVERS: server, SERVER_DOMAIN: SERVER })
const { pool } = world
const dns = createDns([server], PATIENT_TIMES)
const work = { ...openWork(t, world, 'capture'), dns }
const hasty = { ...work, dns: createDns([server], SHORT_TIMES) }
const query = (text: string, values: unknown[] = []) => pool.pg.query(text, values).then(result => result.rows)
const account = await newAccount(world)
let names = 0

type Fields = { name?: string; sending?: boolean; receiving?: boolean; click_tracking?: boolean }

/** Generating keys takes longer than a test: all domains here share one pair. */
const made = await makeDomain(world.secrets, { account_id: account.id, name: 'made.com', is_trusted: false })

/** A domain in verification, with its records published. */
async function setUp({ name = `v${++names}.com`, ...fields }: Fields = {}, owner: TestAccount = account) {
  const id = newId()
  const key = { account_id: owner.id, domain_id: id }
  const dkim_keys = made.dkim_keys.map(made => ({ ...made, ...key, id: newId() }))
  await pool.transaction(tx => storeDomain(tx, { ...made, ...fields, account_id: owner.id, id, name, dkim_keys }))
  await requestVerification(world, owner.id, id)
  const show = async () => {
    const shown = await findDomainWithRecords(pool, owner.id, id, SERVER)
    if (!shown) throw new Error('it is gone')
    return shown
  }
  publish(zone, await show())
  return {
    id,
    name,
    show,
    /** Verifies the domain; returns its status. */
    async verify() {
      await verify_domain(key, work)
      return (await show()).status
    },
    /** Moves the beginning of the window this many hours back. */
    begin: (hours: number) =>
      query(`UPDATE domains SET window_since = now() - make_interval(hours => $1) WHERE id = $2`, [hours, id]),
    row: async () => {
      const [row] = await query(
        `SELECT *, extract(epoch FROM check_at - now()) / 60 AS minutes FROM domains WHERE id = $1`,
        [id],
      )
      return { ...row, minutes: row.minutes === null ? null : Number(row.minutes) }
    },
    statuses: async () => {
      const { records } = await show()
      return Object.fromEntries(records.map(({ record, type, status }) => [`${record} ${type}`, status]))
    },
    retry: () => requestVerification(world, owner.id, id),
  }
}

/** Removes a name from DNS; returns a function that restores it. */
function lose(name: string): () => void {
  const there = zone[name]
  if (!there) throw new Error(`there is no ${name}`)
  delete zone[name]
  return () => {
    zone[name] = there
  }
}

t.test('a domain without its records is pending for 72 hours', async t => {
  const domain = await setUp()
  const publishAgain = lose(`send.${domain.name}`)
  t.equal(await domain.verify(), 'pending')
  t.match(await domain.statuses(), { 'DKIM TXT': 'verified', 'SPF MX': 'pending', 'SPF TXT': 'pending' })
  const { minutes } = await domain.row()
  t.ok(minutes > 0.8 && minutes < 1.2, `${minutes}`)

  await domain.begin(71)
  t.equal(await domain.verify(), 'pending')
  await domain.begin(72)
  t.equal(await domain.verify(), 'failed')
  t.match(await domain.row(), { check_at: null, window_since: null, verified_at: null })

  publishAgain()
  t.equal(await domain.verify(), 'failed', 'until a verification is requested')
  t.equal(await domain.retry(), 'pending')
  t.equal(await domain.verify(), 'verified')
})

t.test('a verified domain is checked daily and uses its return path', async t => {
  const domain = await setUp()
  t.equal(await domain.verify(), 'verified')
  const { minutes, ...row } = await domain.row()
  t.match(row, { return_path_verified: true, verified_at: Date, window_since: null })
  t.ok(minutes > 24 * 60 * 0.89 && minutes < 24 * 60 * 1.11, `${minutes}`)
  const keys = await query('SELECT is_published FROM dkim_keys WHERE domain_id = $1', [domain.id])
  t.strictSame(keys, [{ is_published: true }, { is_published: true }])
  t.equal(await domain.retry(), 'verified', 'another request does not make it worse')
})

t.test('a verified domain that loses a record fails after 72 hours', async t => {
  for (const lost of ['send', 'mb1._domainkey']) {
    const domain = await setUp()
    await domain.verify()
    const putBack = lose(`${lost}.${domain.name}`)
    t.equal(await domain.verify(), 'partially_failed', lost)
    t.match(await domain.row(), { return_path_verified: lost !== 'send', verified_at: Date })
    await domain.begin(71)
    t.equal(await domain.verify(), 'partially_failed')
    const [problem] = await query(
      `SELECT problem FROM domain_records WHERE domain_id = $1 AND status = 'failed' AND name = $2`,
      [domain.id, `${lost}.${domain.name}`],
    )
    t.match(problem, { problem: 'There is no such record.' })
    t.match(
      (await domain.show()).records.find(({ status }) => status === 'failed'),
      { problem: 'There is no such record.' },
    )

    putBack()
    t.equal(await domain.verify(), 'verified')
    lose(`${lost}.${domain.name}`)
    t.equal(await domain.verify(), 'partially_failed')
    await domain.begin(72)
    t.equal(await domain.verify(), 'failed')
  }
})

t.test('a domain sends as partially_verified while its other records are missing', async t => {
  const domain = await setUp({ receiving: true, click_tracking: true })
  const [receive, track] = [lose(domain.name), lose(`track.${domain.name}`)]
  t.equal(await domain.verify(), 'partially_verified')
  t.match(await domain.row(), { verified_at: Date, window_since: Date })
  await domain.begin(100)
  t.equal(await domain.verify(), 'partially_verified', 'for as long as it takes')
  receive()
  t.equal(await domain.verify(), 'partially_verified')
  track()
  t.equal(await domain.verify(), 'verified')
  lose(domain.name)
  t.equal(await domain.verify(), 'partially_verified')
})

t.test('a domain that only receives needs only its MX record', async t => {
  const domain = await setUp({ sending: false, receiving: true })
  t.equal(await domain.verify(), 'verified')
  t.match(await domain.row(), { return_path_verified: false })
  const putBack = lose(domain.name)
  t.equal(await domain.verify(), 'partially_failed')
  putBack()
  t.equal(await domain.verify(), 'verified')
})

t.test('a missing Ed25519 key or DMARC policy does not prevent verification', async t => {
  const domain = await setUp()
  lose(`mb1e._domainkey.${domain.name}`)
  lose(`_dmarc.${domain.name}`)
  t.equal(await domain.verify(), 'verified')
  const keys = await query('SELECT is_published FROM dkim_keys WHERE domain_id = $1 ORDER BY selector', [domain.id])
  t.strictSame(keys, [{ is_published: true }, { is_published: false }])
})

t.test('DNS failures change no status and are retried soon', async t => {
  for (const trouble of ['servfail', 'refused', 'silent', 'garbage'] as const) {
    const domain = await setUp()
    const put = [`send.${domain.name}`, `mb1._domainkey.${domain.name}`].map(name => ({ name, back: lose(name) }))
    const sicken = () => {
      for (const { name } of put) zone[name] = trouble
    }
    const heal = () => {
      for (const { back } of put) back()
    }
    sicken()
    await domain.begin(72)
    t.equal(await domain.verify(), 'pending', trouble)
    t.match(await domain.statuses(), { 'SPF MX': 'temporary_failure', 'SPF TXT': 'temporary_failure' })

    heal()
    t.equal(await domain.verify(), 'verified')
    sicken()
    t.equal(await domain.verify(), 'verified', trouble)
    const { minutes, ...row } = await domain.row()
    t.match(row, { return_path_verified: true, window_since: null })
    t.ok(minutes < 20, `${minutes}`)
    const keys = await query('SELECT is_published FROM dkim_keys WHERE domain_id = $1', [domain.id])
    t.strictSame(keys, [{ is_published: true }, { is_published: true }])
  }
})

t.test('only one account can verify a name, its parents and its subdomains', async t => {
  const rival = await newAccount(world)
  const first = await setUp({ name: 'mail.contended.com' })
  const seconds = []
  for (const name of ['mail.contended.com', 'contended.com', 'eu.mail.contended.com']) {
    seconds.push(await setUp({ name }, rival))
  }
  publish(zone, await first.show())
  t.equal(await first.verify(), 'verified')
  for (const { name, ...second } of seconds) {
    publish(zone, await second.show())
    t.equal(await second.verify(), 'failed', name)
    const { records } = await second.show()
    shows(t, records[0], { status: 'failed', problem: /POST \/domains\/claim/ })
    t.match(await second.row(), { return_path_verified: false, check_at: null, verified_at: null })
    await query('DELETE FROM domains WHERE id = $1', [second.id])
  }
  const beside = await setUp({ name: 'web.contended.com' }, rival)
  t.equal(await beside.verify(), 'verified', 'a sibling domain does not conflict')
  const below = await setUp({ name: 'eu.mail.contended.com' })
  t.equal(await below.verify(), 'verified', 'by the same account')
})

t.test('only one of two accounts that verify related names at once succeeds', async t => {
  const rival = await newAccount(world)
  for (const name of ['twin1.com', 'mail.twin1.com']) {
    const [one, other] = [await setUp({ name: 'twin1.com' }), await setUp({ name }, rival)]
    const statuses = await Promise.all([one.verify(), other.verify()])
    t.strictSame(statuses.sort(), ['failed', 'verified'], name)
    for (const { id } of [one, other]) await query('DELETE FROM domains WHERE id = $1', [id])
  }
})

t.test('a domain changed during its check is checked again', async t => {
  const domain = await setUp()
  const change = "UPDATE domains SET custom_return_path = 'bounce' WHERE id = $1"
  const changing = { ...dns, txt: async (name: string) => (await query(change, [domain.id])) && dns.txt(name) }
  await query('DELETE FROM graphile_worker._private_jobs')
  await verify_domain({ account_id: account.id, domain_id: domain.id }, { ...work, dns: changing })
  t.equal((await domain.show()).status, 'pending')
  t.equal((await query('SELECT FROM graphile_worker.jobs WHERE key = $1', [`verify_domain:${domain.id}`])).length, 1)

  publish(zone, await domain.show())
  t.equal(await domain.verify(), 'verified')
  const rows = await query('SELECT name FROM domain_records WHERE domain_id = $1', [domain.id])
  t.notOk(
    rows.some(({ name }) => name === `send.${domain.name}`),
    'what it was to have before is forgotten',
  )
})

t.test('DNS is not queried for a trusted domain', async t => {
  const name = 'trusted.com'
  const { id } = await setUp({ name })
  await query(`UPDATE domains SET status = 'verified', is_trusted = true, check_at = NULL WHERE id = $1`, [id])
  t.equal(await requestVerification(world, account.id, id), 'verified')
  asked.length = 0
  await verify_domain({ account_id: account.id, domain_id: id }, work)
  t.strictSame(asked, [])
  t.strictSame(await query('SELECT check_at FROM domains WHERE id = $1', [id]), [{ check_at: null }])
})

t.test('the domain of another account cannot be verified', async t => {
  const stranger = await newAccount(world)
  const { id } = await setUp()
  await t.rejects(requestVerification(world, stranger.id, id), { name: 'not_found' })
  asked.length = 0
  await verify_domain({ account_id: stranger.id, domain_id: id }, work)
  t.strictSame(asked, [])
})

t.test('silent name servers of one account delay no other', async t => {
  await query('DELETE FROM graphile_worker._private_jobs')
  const slow = []
  for (let n = 0; n < 6; n++) {
    const domain = await setUp()
    zone[`send.${domain.name}`] = 'silent'
    slow.push(domain.id)
  }
  const quick = await setUp({}, await newAccount(world))
  const options = { pgPool: pool.pg, concurrency: 4, pollInterval: 50, noHandleSignals: true, logger: silentLogger }
  const runner = await run({ ...options, taskList: taskList('slow', hasty) })
  await waitUntil(async () => (await query('SELECT FROM graphile_worker.jobs')).length === 0, 'all jobs are done')
  await runner.stop()
  t.equal((await quick.show()).status, 'verified')
  const [order] = await query(
    `SELECT count(*) FILTER (WHERE is_slow AND at < (SELECT min(checked_at) FROM domain_records WHERE domain_id = $2))
       AS before, count(*) FILTER (WHERE is_slow) AS slow
     FROM (
       SELECT domain_id = ANY ($1) AS is_slow, min(checked_at) AS at FROM domain_records GROUP BY domain_id
     ) d`,
    [slow, quick.id],
  )
  t.match(order, { slow: 6 })
  t.ok(order.before <= 1, `${order.before} before it`)
})

t.test('due domains are queued once, 500 at a time, one after another per account', async t => {
  const owner = await newAccount(world)
  await query('UPDATE domains SET check_at = NULL')
  await query('DELETE FROM graphile_worker._private_jobs')
  await query(
    `INSERT INTO domains (account_id, id, name, status, window_since, check_at)
     SELECT $1, gen_random_uuid(), 'due' || n || '.com', 'pending', now(), now() - interval '1 second'
     FROM generate_series(1, 501) n`,
    [owner.id],
  )
  await query(
    `INSERT INTO domain_claims (account_id, domain_id, id, token, check_at)
     SELECT account_id, id, gen_random_uuid(), 'x', now() FROM domains WHERE name = 'due1.com'`,
  )
  const count = `SELECT task_identifier AS task, count(*), count(DISTINCT key) AS keys, array_agg(DISTINCT queue_name) AS queues
    FROM graphile_worker.jobs GROUP BY 1 ORDER BY 1`
  await Promise.all([check_domains({}, work), check_domains({}, work)])
  const queues = [`verify_domain:${owner.id}`]
  const claim = { task: 'check_claim', count: 1, keys: 1, queues }
  t.strictSame(await query(count), [claim, { task: 'verify_domain', count: 501, keys: 501, queues }])
  await check_domains({}, work)
  t.strictSame(await query(count), [claim, { task: 'verify_domain', count: 501, keys: 501, queues }])
  const [later] = await query(`SELECT min(check_at) > now() + interval '4 minutes' AS is_later FROM domains`)
  t.ok(later.is_later)
  await query('DELETE FROM graphile_worker._private_jobs')
})

import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm, symlink } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { judgeClock } from '#flows/doctor/clock.ts'
import { databaseChecks } from '#flows/doctor/database.ts'
import { checkPostgres } from '#flows/doctor/postgres.ts'
import { createDomain } from '#flows/domains/create_domain.ts'
import { layFoundation } from '#flows/process/run_process.ts'
import { createReadTokenKeys } from '#flows/process/token_keys.ts'
import { type Finding, runChecks } from '#lib/doctor/finding.ts'
import type { Site } from '#lib/doctor/site.ts'
import { createDns } from '#lib/net/dns.ts'
import { addJob } from '#sql/jobs.ts'
import { migrate } from '#sql/migrate.ts'
import { createPool, type Pool } from '#sql/pool.ts'
import { upsertHeartbeats } from '#sql/process/worker_heartbeats.ts'
import { pauseParty } from '#sql/safety/pauses.ts'
import { startZone } from '#test/support/dns/name_server.ts'
import { ROOT } from '#test/support/root.ts'
import { acceptEmail } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld, SECRET_KEY } from '#test/support/world.ts'
import { openPatient } from '#workers/doctor_database.ts'

const NAME = 'mail.acme.com'

const { server, zone } = await startZone(t)
const world = await openWorld(t, { DNS_SERVERS: server, SERVER_DOMAIN: NAME })
const { pool, config } = world
const { pg } = pool
const site: Site = { config, dns: createDns([server]), addresses: [], transports: [] }
const account = await newAccount(world)

t.test('the doctor reports unsafe Postgres settings with the statement that fixes them', async t => {
  const { rows } = await pg.query('SELECT current_database() AS name')
  await pg.query(`ALTER DATABASE ${rows[0].name} SET synchronous_commit = off`)
  const off = /synchronous_commit is off/
  const [problem] = (await examineAnew(t)).filter(({ finding }) => off.test(finding))
  t.match(problem, {
    check: 'Postgres',
    level: 'problem',
    fix: `ALTER DATABASE "${rows[0].name}" RESET synchronous_commit;`,
  })
  await pg.query(problem?.fix as string)
  t.notOk((await examineAnew(t)).some(({ finding }) => off.test(finding)))
  t.match(
    (await examineAnew(t)).find(({ finding }) => finding.startsWith('synchronous_commit')),
    { level: 'ok', finding: 'synchronous_commit is on.' },
  )

  async function examineAnew(t: Test): Promise<Finding[]> {
    const fresh = createPool(config.DATABASE_URL as string, { max: 1 })
    t.teardown(() => fresh.end())
    return (await examine(fresh)).filter(({ check }) => check === 'Postgres')
  }
})

t.test('the doctor reports a read-only Postgres', async t => {
  const { rows } = await pg.query('SELECT current_database() AS name')
  await pg.query(`ALTER DATABASE ${rows[0].name} SET default_transaction_read_only = on`)
  const fresh = createPool(config.DATABASE_URL as string, { max: 1 })
  t.teardown(() => fresh.end())
  const reset = `ALTER DATABASE "${rows[0].name}" RESET default_transaction_read_only;`
  const readOnly = (findings: Finding[]) => findings.filter(({ finding }) => /read_only/.test(finding))
  shows(t, readOnly(await checkPostgres(fresh, config, true)), [{ level: 'problem', fix: reset }])
  await t.rejects(migrate(config.DATABASE_URL as string), {
    message: /read-only transaction\. DATABASE_URL must lead to/,
  })
  await pg.query(reset)
  shows(t, readOnly(await checkPostgres(pool, config, true)), [])
})

t.test('the doctor reports a pooler that keeps no sessions', async t => {
  t.equal(await about('pooler'), undefined)
  const { rows } = await pg.query('SELECT current_database() AS name')
  await pg.query('CREATE FUNCTION pg_backend_pid() RETURNS integer RETURN 1')
  await pg.query(`ALTER DATABASE ${rows[0].name} SET search_path = public, pg_catalog`)
  t.match(await about('pooler'), { level: 'problem', fix: /pool_mode = session/ })
  await pg.query(`ALTER DATABASE ${rows[0].name} RESET search_path`)
})

t.test('the doctor reports too few Postgres connections for all processes', async t => {
  const free = { finding: /1 web, 1 worker and 1 smtp processes need up to 39 connections; there are \d+, \d+ in use/ }
  t.match(await about('Postgres', /connections/), { level: 'ok', ...free })
  await upsertHeartbeats(
    pool,
    Array.from({ length: 80 }, (_, i) => `doctor ${i}`),
  )
  t.match(await about('Postgres', /connections/), {
    level: 'problem',
    finding: /1 web, 40 worker and 1 smtp processes need up to 741 connections, and there are/,
    fix: /^ALTER SYSTEM SET max_connections = 7\d\d;/,
  })
  await pg.query("DELETE FROM worker_heartbeats WHERE pool_id <> 'doctor 0'")
})

t.test('the doctor knows the limits of connections of the role and of the database', async t => {
  const { rows } = await pg.query('SELECT current_database() AS name')
  const { name } = rows[0]
  const role = `${name}_limited`
  await pg.query(`CREATE ROLE ${role} LOGIN PASSWORD 'x' CONNECTION LIMIT 21 IN ROLE pg_read_all_data`)
  t.teardown(() => pg.query(`DROP ROLE ${role}`))
  const url = Object.assign(new URL(config.DATABASE_URL as string), { username: role, password: 'x' }).href
  const limited = createPool(url, { max: 1 })
  t.teardown(() => limited.end())
  const fix = 'Raise the CONNECTION LIMIT of the role or of the database.'
  const find = async () =>
    (await checkPostgres(limited, config, true)).filter(({ finding }) => /need up to/.test(finding))
  shows(t, await find(), [{ level: 'problem', finding: /, and there are 21\.$/, fix }])
  await pg.query(`ALTER DATABASE ${name} CONNECTION LIMIT 20`)
  shows(t, await find(), [{ level: 'problem', finding: /, and there are 20\.$/, fix }])
  await pg.query(`ALTER DATABASE ${name} CONNECTION LIMIT -1; ALTER ROLE ${role} CONNECTION LIMIT -1`)
  shows(t, await find(), [{ level: 'ok' }])
})

t.test('the doctor reports an OPERATOR_ACCOUNT that does not exist', async t => {
  const check = async (OPERATOR_ACCOUNT?: string) =>
    (await runChecks(databaseChecks(pool, { ...site, config: { ...config, OPERATOR_ACCOUNT } }, true), 8_000)).filter(
      ({ check }) => check === 'OPERATOR_ACCOUNT',
    )
  shows(t, await check(), [])
  shows(t, await check(account.id), [])
  shows(t, await check('nobody'), [{ level: 'problem', finding: /^There is no account nobody: mail to postmaster/ }])
})

t.test('the doctor compares the clock of this host with that of the database', async t => {
  t.match(await about('clock'), { level: 'ok' })
  t.match(judgeClock(90_000, 5), {
    level: 'warning',
    finding: 'This host is 90.0 s ahead of the database.',
    fix: /set-ntp/,
  })
  t.match(judgeClock(-3_500, 5), { level: 'warning', finding: /3\.5 s behind/ })
})

t.test('the doctor reports a SECRET_KEY of another database and a damaged signing key', async t => {
  t.match(await about('SECRET_KEY'), { level: 'ok', finding: 'It decrypts all 1 signing keys.' })
  const other = { ...site, config: { ...config, SECRET_KEY: `another ${SECRET_KEY}` } }
  const [finding] = (await examine(pool, other)).filter(({ check }) => check === 'SECRET_KEY')
  t.match(finding, {
    level: 'problem',
    finding: /is not the one this database was set up with/,
    fix: /^Set SECRET_KEY to /,
  })

  const { rows } = await pg.query('SELECT private_key FROM dkim_keys WHERE account_id = $1', [account.id])
  await pg.query("UPDATE dkim_keys SET private_key = private_key || '\\x00' WHERE account_id = $1", [account.id])
  t.match(await about(`domain ${account.domain}`), { level: 'problem', finding: /signing key mb1 cannot be used/ })
  await pg.query('UPDATE dkim_keys SET private_key = $2 WHERE account_id = $1', [account.id, rows[0].private_key])
})

t.test('the doctor reports a missing DNS record as a line to publish', async t => {
  const { id, name } = await createDomain(world, {
    account_id: account.id,
    name: 'doctor.acme.com',
    is_trusted: false,
  })
  const ofDomain = async () => (await examine(pool)).filter(({ check }) => check.startsWith(`domain ${name} of `))
  t.match((await ofDomain())[0], { level: 'warning', finding: /There is no such record/ })
  await pg.query("UPDATE domains SET verified_at = now(), status = 'verified' WHERE id = $1", [id])
  const missing = await ofDomain()
  shows(
    t,
    missing.filter(({ level }) => level === 'problem').map(({ fix }) => fix),
    [
      /_domainkey\.doctor\.acme\.com\. IN TXT "v=DKIM1;.*" "/,
      /send\.doctor.* IN MX 10 feedback\.mail\.acme\.com\.$/,
      /send.* TXT "v=spf1/,
    ],
  )
  for (const { fix } of missing) publish(fix as string)
  shows(t, await ofDomain(), [{ level: 'ok', finding: /^It is verified, and all \d records are in DNS\.$/ }])
  zone[`send.${name}`] = 'servfail'
  shows(t, await ofDomain(), [{ level: 'unknown' }, { level: 'unknown' }])

  await pg.query('UPDATE domains SET is_trusted = true WHERE id = $1', [account.domain_id])
  const trusted = (await examine(pool)).filter(({ check }) => check.startsWith(`domain ${account.domain} of`))
  t.match(trusted[0], { level: 'warning', finding: /^It is added as verified; / })
})

t.test('the doctor reports waiting emails, permanent failures and pauses', async t => {
  t.match(await about('queue'), { level: 'ok', finding: 'Nothing is due.' })
  t.match(await about('workers'), { level: 'ok', finding: '1 alive.' })
  await acceptEmail(world, account, { to: ['x@y.com', 'z@y.com'] })
  await pg.query(
    "UPDATE deliveries SET next_at = now() - interval '3 hours', priority = 10 WHERE recipient = 'z@y.com'",
  )
  t.match(await about('queue'), { level: 'problem', finding: 'Email that is due has waited for up to 3 hours.' })
  await pg.query('DELETE FROM worker_heartbeats')
  t.match(await about('workers'), { level: 'problem', finding: 'None is alive: nothing is sent.' })

  await addJob(pool, 'purge', {})
  await pg.query(
    "UPDATE graphile_worker._private_jobs SET attempts = max_attempts, last_error = 'No disk\nat x' WHERE attempts = 0",
  )
  const jobs = (await examine(pool)).find(({ check, finding }) => check === 'jobs' && finding.includes('purge'))
  t.match(jobs, { level: 'warning', finding: '1 of purge have failed for good: No disk' })
  await pg.query(jobs?.fix as string)
  t.notOk((await examine(pool)).some(({ finding }) => finding.includes('of purge')))
  t.equal(
    (await pg.query("SELECT FROM graphile_worker.jobs WHERE task_identifier = 'purge' AND attempts = 0")).rowCount,
    1,
  )

  await pauseParty(
    pool,
    { account_id: account.id, domain_id: account.domain_id },
    { paused_by: 'bounces', reason: '12 %' },
  )
  t.match(await about('sending', /domain/), {
    level: 'warning',
    finding: /has been paused since .* by bounces: 12 %\.$/,
    fix: `npm run admin -- domain resume ${account.domain} --account 'account ${account.id}'`,
  })
})

t.test('another SECRET_KEY can be used after the statements that the doctor prints', async t => {
  const fresh = await openWorld(t)
  await createReadTokenKeys(fresh)()
  const other = { ...fresh.config, SECRET_KEY: `another ${SECRET_KEY}` }
  const findings = await examine(fresh.pool, { ...site, config: other })
  const fix = findings.find(({ check }) => check === 'SECRET_KEY')?.fix ?? ''
  for (const line of fix.split('\n').filter(line => line.startsWith('DELETE '))) await fresh.pool.pg.query(line)

  const { pool, secrets } = await layFoundation(other, fresh.log)
  t.teardown(() => pool.end())
  t.strictSame((await createReadTokenKeys({ pool, secrets })()).kids, [1])
})

t.test('the doctor checks only what it can in a database that is not migrated', async t => {
  const fresh = await openWorld(t)
  await fresh.pool.pg.query("DELETE FROM migrations WHERE name = '0011_domains.sql'")
  const patient = await openPatient(fresh.config)
  shows(t, patient.findings, [
    { level: 'problem', finding: 'The database lacks 1 migration, from 0011_domains.sql on.', fix: /^npm run migrate/ },
  ])
  t.strictSame(
    patient.checks(site).map(({ check }) => check),
    ['Postgres', 'pooler', 'clock'],
  )
  await patient.close()
})

t.test('npm run doctor exits with 1 for a problem and 2 if it cannot start', async t => {
  const rows = await pg.query('SELECT current_database() AS name')
  await pg.query(`ALTER DATABASE ${rows.rows[0].name} SET synchronous_commit = off`)
  const silent = createServer(socket => socket.on('error', () => {})).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.teardown(() => silent.close())
  const { port } = silent.address() as AddressInfo
  const environment = { SECRET_KEY, DNS_SERVERS: server, HELO_NAME: NAME }
  const [found, hung, broken, wrong] = await Promise.all([
    run(ROOT, { ...environment, DATABASE_URL: config.DATABASE_URL as string }, '--json', '--address', '203.0.113.5'),
    run(ROOT, { ...environment, DATABASE_URL: `postgres://me:secret@127.0.0.1:${port}/x` }),
    run(ROOT, { PORT: 'x', MAIL_TRANSPORT: 'pigeon' }),
    run(ROOT, {}, '--address', 'here'),
  ])
  t.equal(found.code, 1)
  const findings = JSON.parse(found.stdout) as Finding[]
  t.ok(findings.some(({ level, finding }) => level === 'problem' && /synchronous_commit/.test(finding)))
  t.ok(findings.some(({ check, finding }) => check === 'PTR' && finding === '203.0.113.5 has no name.'))
  t.equal(found.stderr, '')

  t.equal(hung.code, 1)
  t.match(hung.stdout, /^problem {2}Postgres: It cannot be reached: .*\n {11}psql 'postgres:\/\/me@127/m)
  t.equal(broken.code, 1)
  t.match(broken.stdout, /^problem {2}configuration: PORT: .*\n {11}PORT=/m)
  t.match(broken.stdout, /^problem {2}configuration: MAIL_TRANSPORT: must be/m)
  t.equal(wrong.code, 2)
  t.match(wrong.stderr, /^--address must be an IP address such as 203\.0\.113\.5, not here\nnpm run doctor -- /)
})

t.test('npm run doctor works without a database', async t => {
  const { code, stdout } = await run(await openCheckout(t), { DNS_SERVERS: server, HELO_NAME: NAME })
  t.equal(code, 0, stdout)
  t.match(stdout, /^unknown {2}Postgres: DATABASE_URL is not set, and the embedded Postgres of \.data\/ does not run/m)
  t.match(stdout, /^warning {2}HELO_NAME: mail\.acme\.com has no address\.\n {11}mail\.acme\.com\. IN A /m)
  t.match(stdout, /^warning {2}MAIL_TRANSPORT: capture: mail is stored, nothing leaves this machine\.$/m)
})

function examine(of: Pool, where: Site = site): Promise<Finding[]> {
  return runChecks(databaseChecks(of, where, true), 10_000)
}

async function about(check: string, finding = /./): Promise<Finding | undefined> {
  return (await examine(pool)).find(found => found.check === check && finding.test(found.finding))
}

/** Publishes a line of a zone file, like the administrator of the zone. */
function publish(line: string): void {
  const [, name = '', type = '', data = ''] = /^(\S+)\. IN (\S+) (.*)$/.exec(line) ?? []
  const text = data.startsWith('"') ? data.slice(1, -1).replaceAll('" "', '') : data.replace(/\.$/, '')
  const there = zone[name]
  zone[name] = { ...(typeof there === 'object' ? there : {}), [type]: [text] }
}

/** The path of a checkout in which Mailbrook was never started. */
async function openCheckout(t: Test): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'mailbrook-test-'))
  t.teardown(() => rm(directory, { recursive: true }))
  for (const name of await readdir(ROOT)) {
    if (!name.startsWith('.')) await symlink(join(ROOT, name), join(directory, name))
  }
  return directory
}

async function run(directory: string, environment: Record<string, string>, ...words: string[]) {
  const links = ['--preserve-symlinks', '--preserve-symlinks-main']
  const { NODE_COMPILE_CACHE = '' } = process.env
  const options = { cwd: directory, env: { NODE_COMPILE_CACHE, ...environment } }
  const program = [...links, join(directory, 'workers', 'doctor.ts'), ...words]
  return promisify(execFile)(process.execPath, program, options).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  )
}

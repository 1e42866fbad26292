import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { cp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { Logger } from 'graphile-worker'
import pg from 'pg'
import t, { type Test } from 'tap'
import { layFoundation } from '#flows/process/run_process.ts'
import { openGraphilePool } from '#sql/graphile.ts'
import { migrate } from '#sql/migrate.ts'
import { listMigrations } from '#sql/migrations.ts'
import { createDatabase, createEmptyDatabase } from '#test/support/database/database.ts'
import { startPooler } from '#test/support/database/pooler.ts'
import { ROOT } from '#test/support/root.ts'
import { makeScratch } from '#test/support/scratch.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { SECRET_KEY, testConfig } from '#test/support/world.ts'

/** The compile cache of the test suite (test/setup.ts). */
const { NODE_COMPILE_CACHE } = process.env
const cached = NODE_COMPILE_CACHE ? { NODE_COMPILE_CACHE } : {}

t.test('migrate updates an empty database, and changes nothing the second time', async t => {
  const { url, query } = await openEmptyDatabase(t)
  const message = 'The database is not up to date; run: npm run migrate'
  await t.rejects(layFoundation(testConfig(url)), { message }, 'no process starts before the migration')

  await migrate(url)
  const applied = await query('SELECT name, applied_at FROM migrations ORDER BY name')
  t.same(
    applied.map(row => row.name),
    await namesNeeded(),
  )
  t.same(await query('SELECT FROM emails'), [])
  t.same(await query('SELECT FROM graphile_worker.jobs'), [])
  await layFoundation(testConfig(url)).then(({ pool }) => pool.end())

  await migrate(url)
  t.same(await query('SELECT name, applied_at FROM migrations ORDER BY name'), applied)
})

t.test('concurrent migrations take turns', async t => {
  const { url, query } = await openEmptyDatabase(t)
  await Promise.all([migrate(url), migrate(url), migrate(url)])
  const names = await query('SELECT name FROM migrations ORDER BY name')
  t.same(
    names.map(row => row.name),
    await namesNeeded(),
  )
})

t.test('a pool of the job queue survives the loss of its connections', async t => {
  const url = await createEmptyDatabase(t)
  const errors: string[] = []
  const pool = openGraphilePool(url, 1, new Logger(() => (_level, message) => errors.push(message)))
  t.teardown(() => pool.end())
  await pool.query('SELECT 1')
  const others = 'FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()'
  await connected(url, client => client.query(`SELECT pg_terminate_backend(pid) ${others}`))
  const isTold = async () => errors.length > 0
  await waitUntil(isTold, 'the pool has noticed the loss')
  t.match(errors[0], /^a connection was lost: terminating connection/)
  t.equal((await pool.query('SELECT 1')).rowCount, 1)
})

t.test('functions are replaced only when their file has changed', async t => {
  const { url, query } = await openEmptyDatabase(t)
  await migrate(url)
  const directory = await copyCode(t)
  const file = join(directory, 'sql', 'delivery', 'fence_deliveries.sql')
  const text = await readFile(file, 'utf8')
  const applied = () => query("SELECT name FROM migrations WHERE starts_with(name, 'functions ')")
  const before = await applied()

  await writeFile(file, `${text}COMMENT ON FUNCTION fence_deliveries IS 'changed';`)
  t.match(await runMigrate({ DATABASE_URL: url, SECRET_KEY }, directory), { code: 0, stderr: '' })
  const after = await applied()
  t.equal(after.length, 1, 'the earlier version is forgotten')
  t.notSame(after, before)
  const comment = "SELECT obj_description('fence_deliveries'::regproc) AS comment"
  t.same(await query(comment), [{ comment: 'changed' }])

  await migrate(url)
  t.same(await query(comment), [{ comment: null }], 'an earlier version of a file counts as a change')
})

t.test('processes of the previous release are ready and start until the next but one', async t => {
  const { url, query } = await openEmptyDatabase(t)
  await migrate(url)
  const directory = await copyCode(t)
  const file = join(directory, 'sql', 'delivery', 'fence_deliveries.sql')
  const text = await readFile(file, 'utf8')
  const release = async (comment: string) => {
    await writeFile(file, `${text}COMMENT ON FUNCTION fence_deliveries IS '${comment}';`)
    t.match(await runMigrate({ DATABASE_URL: url, SECRET_KEY }, directory), { code: 0, stderr: '' })
  }

  await release('next')
  await layFoundation(testConfig(url)).then(({ pool }) => pool.end())
  await release('next but one')
  await t.rejects(layFoundation(testConfig(url)), { message: /not up to date/ })

  await migrate(url)
  t.same(
    await query("SELECT obj_description('fence_deliveries'::regproc) AS comment"),
    [{ comment: null }],
    'it is restored',
  )
  await layFoundation(testConfig(url)).then(({ pool }) => pool.end())
})

t.test('a migration that fails is rolled back', async t => {
  const { url, query } = await openEmptyDatabase(t)
  const directory = await copyCode(t)
  const add = (name: string, text: string) => writeFile(join(directory, 'sql', 'migrations', name), text)
  await add('9998_good.sql', 'CREATE TABLE good (id int)')
  await add('9999_bad.sql', 'CREATE TABLE bad (id int); INSERT INTO good VALUES (1); SELECT 1 / 0')
  const tables = () => query("SELECT to_regclass('good') IS NOT NULL AS good, to_regclass('bad') IS NOT NULL AS bad")

  const environment = { DATABASE_URL: url, SECRET_KEY }
  const failed = await runMigrate(environment, directory)
  t.match(failed, { code: 1, stdout: '', stderr: /migration 9999_bad\.sql failed: division by zero/ })
  t.same(await tables(), [{ good: true, bad: false }])
  t.same(await query('SELECT FROM good'), [])
  t.same(await query("SELECT name FROM migrations WHERE name > '9'"), [{ name: '9998_good.sql' }])

  await add('9999_bad.sql', 'CREATE TABLE bad (id int)')
  t.same(
    await runMigrate(environment, directory),
    { code: 0, stdout: '', stderr: '' },
    'the corrected migration continues from there',
  )
  t.same(await tables(), [{ good: true, bad: true }])
})

t.test('others go on while a migration waits for a long transaction', async t => {
  const { url, query } = await openEmptyDatabase(t)
  await migrate(url)
  const directory = await copyCode(t)
  await writeFile(join(directory, 'sql', 'migrations', '9998_alter.sql'), 'ALTER TABLE emails ADD COLUMN extra integer')
  await connected(url, async dump => {
    await dump.query('BEGIN; LOCK TABLE emails IN ACCESS SHARE MODE')
    const migrated = runMigrate({ DATABASE_URL: url, SECRET_KEY }, directory)
    await waitUntil(async () => {
      const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%ADD COLUMN extra%'`
      return (await query(waiting)).length > 0
    }, 'the migration waits')
    for (const until = performance.now() + 5_000; performance.now() < until; )
      await query("SET lock_timeout = '3s'; SELECT FROM emails")
    await dump.query('COMMIT')
    t.match(await migrated, { code: 0, stderr: /^migration 9998_alter\.sql waits [^\n]*\n$/ })
  })
  t.same(await query('SELECT extra FROM emails'), [])
})

t.test('a migration takes as long as it needs', async t => {
  const { url, query } = await openEmptyDatabase(t)
  await migrate(url)
  await query(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET statement_timeout = '300ms'`)
  const directory = await copyCode(t)
  await writeFile(join(directory, 'sql', 'migrations', '9998_slow.sql'), 'SELECT pg_sleep(0.5)')
  t.match(await runMigrate({ DATABASE_URL: url, SECRET_KEY }, directory), { code: 0, stderr: '' })
})

t.test('migrate without a reachable database says so in one line', async t => {
  const refused = { code: 1, stdout: '' }
  t.match(await runMigrate({}), { ...refused, stderr: /^DATABASE_URL is not set; .*\n$/ })
  const url = new URL(await createDatabase(t))
  url.pathname = 'nowhere'
  for (const [DATABASE_URL, reason] of [
    ['postgres://a:b@127.0.0.1:1/c', 'connect ECONNREFUSED 127.0.0.1:1'],
    [url.href, 'database "nowhere" does not exist'],
    [url.href.replace('mailbrook:', 'mailbrook:x'), 'password authentication failed for user "mailbrook"'],
  ] as const) {
    const stderr = `The database of DATABASE_URL cannot be reached: ${reason}\n`
    t.same(await runMigrate({ DATABASE_URL, SECRET_KEY }), { ...refused, stderr })
  }
})

t.test('migrate names a file of DATABASE_URL that cannot be read', async t => {
  const DATABASE_URL = 'postgres://a:b@127.0.0.1:1/c?sslmode=verify-full&sslrootcert=/nowhere.pem'
  const stderr = /^The database of DATABASE_URL cannot be reached: ENOENT: .*'\/nowhere\.pem'\n$/
  t.match(await runMigrate({ DATABASE_URL, SECRET_KEY }), { code: 1, stderr })
})

t.test('an operator whose pooler refuses the timeouts of connections is led to the page about poolers', async t => {
  const fields = ['SFATAL', 'C08P01', 'Munsupported startup parameter: statement_timeout', ''] // as PgBouncer responds
  const body = Buffer.from(fields.map(field => `${field}\0`).join(''))
  const head = Buffer.from('E\0\0\0\0')
  head.writeInt32BE(body.length + 4, 1)
  const pooler = createServer(socket => socket.once('data', () => socket.end(Buffer.concat([head, body]))))
  t.teardown(() => pooler.close())
  await once(pooler.listen(0, '127.0.0.1'), 'listening')
  const DATABASE_URL = `postgres://a:b@127.0.0.1:${(pooler.address() as AddressInfo).port}/c`
  const stderr =
    'The database of DATABASE_URL cannot be reached: unsupported startup parameter: statement_timeout. ' +
    'For a pooler such as PgBouncer, see "Connections to Postgres" in docs/operating.md.\n'
  t.same(await runMigrate({ DATABASE_URL, SECRET_KEY }), { code: 1, stdout: '', stderr })
})

t.test('a role that may not create tables, or has no connection left, is told what to do', async t => {
  const url = new URL(await createEmptyDatabase(t))
  const database = url.pathname.slice(1)
  const role = `${database}_role`
  await connected(url.href, client =>
    client.query(`CREATE ROLE ${role} LOGIN PASSWORD 'x'; GRANT ALL ON DATABASE ${database} TO ${role}`),
  )
  t.teardown(() => connected(url.href, client => client.query(`DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`)))
  const own = Object.assign(new URL(url.href), { username: role, password: 'x' }).href
  const advice =
    'The role of DATABASE_URL must own the database and everything in it: ALTER DATABASE name OWNER TO role'
  const { code, stderr } = await runMigrate({ DATABASE_URL: own, SECRET_KEY })
  t.same([code, stderr], [1, `permission denied for schema public. ${advice}\n`])

  await migrate(url.href)
  await t.rejects(layFoundation(testConfig(own)), { message: `permission denied for table migrations. ${advice}` })
  await connected(url.href, client => client.query(`ALTER ROLE ${role} CONNECTION LIMIT 0`))
  const message =
    /^The database of DATABASE_URL cannot be reached: too many connections .*\. Raise max_connections of Postgres, /
  await t.rejects(layFoundation(testConfig(own)), { message })
})

t.test('migrate refuses a database that would not work', async t => {
  const url = new URL(await createEmptyDatabase(t))
  const database = `${url.pathname.slice(1)}_unfit`
  url.pathname = database
  const administer = (text: string) => connected(url.href.replace(database, 'postgres'), client => client.query(text))
  for (const [options, setting, reason] of [
    ["ENCODING 'LATIN1' LOCALE 'C'", '', 'has the encoding LATIN1, not UTF8; create it with: '],
    ["ENCODING 'UTF8' LOCALE 'C' LOCALE_PROVIDER icu ICU_LOCALE 'tr'", '', 'does not turn I into i; create it with: '],
    ["ENCODING 'UTF8' LOCALE 'C'", "SET DateStyle = 'German'", 'is German, DMY, not ISO'],
  ] as const) {
    await administer(`CREATE DATABASE ${database} ${options} TEMPLATE template0`)
    if (setting) await administer(`ALTER DATABASE ${database} ${setting}`)
    const { code, stderr } = await runMigrate({ DATABASE_URL: url.href, SECRET_KEY })
    await administer(`DROP DATABASE ${database}`)
    t.equal(code, 1)
    t.match(stderr, reason)
    t.equal(stderr.trim().split('\n').length, 1)
  }
})

t.test('migrate refuses a Postgres that is too old', async t => {
  const { url, query } = await openEmptyDatabase(t)
  await query(`
    CREATE FUNCTION current_setting(name text) RETURNS text RETURN
      CASE name WHEN 'server_version' THEN '15.18' WHEN 'server_version_num' THEN '150018'
      ELSE pg_catalog.current_setting(name) END;
    ALTER DATABASE ${new URL(url).pathname.slice(1)} SET search_path = public, pg_catalog
  `)
  const stderr = 'Postgres must be version 16 or newer; that of DATABASE_URL is 15.18.\n'
  t.same(await runMigrate({ DATABASE_URL: url, SECRET_KEY }), { code: 1, stdout: '', stderr })
  t.same(await query("SELECT to_regclass('migrations') AS table"), [{ table: null }])
})

t.test('no process uses a pooler that keeps no sessions', async t => {
  const { url, query } = await openEmptyDatabase(t)
  await migrate(await startPooler(t, url))
  await layFoundation(testConfig(await startPooler(t, url))).then(({ pool }) => pool.end())

  await query(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET search_path = public, pg_catalog`)
  const message = /^DATABASE_URL leads through a pooler that keeps no sessions: set pool_mode = session /
  for (const [session, is] of [
    ['1', 'one that both connections share'],
    ['(random() * 1e9)::integer', 'another at each statement'],
  ]) {
    await query(`CREATE OR REPLACE FUNCTION public.pg_backend_pid() RETURNS integer VOLATILE RETURN ${session}`)
    await t.rejects(migrate(url), { message }, is as string)
    await t.rejects(layFoundation(testConfig(url)), { message })
  }
})

async function namesNeeded(): Promise<string[]> {
  const migrations = await listMigrations()
  return migrations.map(migration => migration.name).sort()
}

type Row = Record<string, unknown>
type Query = (text: string) => Promise<Row[]>

async function openEmptyDatabase(t: Test): Promise<{ url: string; query: Query }> {
  const url = await createEmptyDatabase(t)
  return { url, query: text => connected(url, client => client.query<Row>(text)).then(result => result.rows) }
}

async function connected<T>(url: string, act: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return act(client).finally(() => client.end())
}

/** Copies what `node sql/migrate.ts` needs, to add migrations. */
async function copyCode(t: Test): Promise<string> {
  const directory = await makeScratch('mailbrook-test-')
  t.teardown(() => rm(directory, { recursive: true }))
  for (const name of ['sql', 'lib', 'package.json'])
    await cp(join(ROOT, name), join(directory, name), { recursive: true })
  await symlink(join(ROOT, 'node_modules'), join(directory, 'node_modules'))
  return directory
}

type Result = { code: number; stdout: string; stderr: string }

function runMigrate(environment: Record<string, string>, directory = ROOT): Promise<Result> {
  const env = { ...cached, ...environment }
  return new Promise(resolve =>
    execFile(process.execPath, [join(directory, 'sql/migrate.ts')], { env }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    ),
  )
}

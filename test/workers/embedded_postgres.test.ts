import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t, { type Test } from 'tap'
import { StartupError } from '#lib/errors.ts'
import { makeScratch } from '#test/support/scratch.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { signal } from '#workers/embedded_postgres/server.ts'
import { startEmbeddedPostgres } from '#workers/embedded_postgres/start.ts'

const common = await makeDirectory(t) // creating a cluster is the slow part

t.test('startEmbeddedPostgres starts, keeps data, and stops', async t => {
  const first = await startEmbeddedPostgres(common)
  t.equal(first.owned, true)
  await query(first.url, 'CREATE TABLE notes AS SELECT 1 AS note')
  const { rows } = await query(first.url, "SELECT current_setting('fsync') AS fsync, getdatabaseencoding() AS encoding")
  t.same(rows, [{ fsync: 'on', encoding: 'UTF8' }])
  await first.stop()
  await t.rejects(query(first.url, 'SELECT 1'), { code: 'ECONNREFUSED' })

  const second = await startEmbeddedPostgres(common)
  t.same((await query(second.url, 'SELECT note FROM notes')).rows, [{ note: 1 }])
  await Promise.all([second.stop(), second.stop()])
})

t.test('startEmbeddedPostgres adopts the server of a killed Mailbrook', async t => {
  const { child, url } = await startElsewhere(t, common)
  await kill(child)

  const adopted = await startEmbeddedPostgres(common)
  t.equal(adopted.url, url, 'the same server')
  t.equal(adopted.owned, true)
  await adopted.stop()
  await t.rejects(query(url, 'SELECT 1'), { code: 'ECONNREFUSED' })
})

t.test('startEmbeddedPostgres recovers after everything was killed', async t => {
  const { child, url } = await startElsewhere(t, common)
  await query(url, 'INSERT INTO notes VALUES (2)')
  await kill(child)
  process.kill(await readServerPid(common), 'SIGKILL')

  const postgres = await startEmbeddedPostgres(common)
  t.same((await query(postgres.url, 'SELECT note FROM notes')).rows, [{ note: 1 }, { note: 2 }])
  await postgres.stop()
})

t.test('a stale process id in postmaster.pid does not prevent the start', async t => {
  await startEmbeddedPostgres(common).then(postgres => postgres.stop())
  const owner = process.getuid?.() === 0 ? { uid: 65534 } : {}
  const other = spawn('sleep', ['60'], owner)
  t.teardown(() => kill(other))
  const lines = [other.pid, join(common, 'postgres'), 1, 1, '', '127.0.0.1', '', 'ready', '']
  await writeFile(join(common, 'postgres', 'postmaster.pid'), lines.join('\n'))

  const postgres = await startEmbeddedPostgres(common)
  t.equal((await query(postgres.url, 'SELECT 1')).rowCount, 1)
  await postgres.stop()
})

t.test('a second Mailbrook is refused with the process id of the first', async t => {
  const first = await startEmbeddedPostgres(common)

  const message = `Mailbrook is already running in ${common}, process ${process.pid}`
  await t.rejects(startEmbeddedPostgres(common), { message, constructor: StartupError })
  t.equal((await query(first.url, 'SELECT 1')).rowCount, 1, 'the first continues')
  await first.stop()
})

t.test('only one of two concurrent starts succeeds, even on a new directory', async t => {
  const directory = await makeDirectory(t)
  const starts = await Promise.allSettled([startElsewhere(t, directory), startElsewhere(t, directory)])
  t.same(starts.map(start => start.status).sort(), ['fulfilled', 'rejected'])
  const refused = starts.find(start => start.status === 'rejected')
  t.match(refused?.reason.message, /^Mailbrook is already running in .*, process \d+$/)
  await Promise.all(starts.map(start => start.status === 'fulfilled' && stopElsewhere(start.value.child)))
  t.same((await readdir(directory)).sort(), ['postgres', 'postgres.log', 'postgres_password'])
})

t.test('short commands share the embedded Postgres', async t => {
  const share = () => startEmbeddedPostgres(common, { share: true })

  await t.test('and leave a running Mailbrook alone', async t => {
    const main = await startEmbeddedPostgres(common)
    const command = await share()
    t.match(command, { url: main.url, owned: false })
    await command.stop()
    t.equal((await query(main.url, 'SELECT 1')).rowCount, 1)
    await main.stop()
  })

  await t.test('and the last one stops the server', async t => {
    const [one, two] = [await share(), await share()]
    t.equal(one.url, two.url)
    t.equal(one.owned, true)
    await one.stop()
    t.equal((await query(two.url, 'SELECT 1')).rowCount, 1)
    await two.stop()
    await t.rejects(query(two.url, 'SELECT 1'), { code: 'ECONNREFUSED' })
  })

  await t.test('and leave the server to a Mailbrook started later', async t => {
    const command = await share()
    const main = await startEmbeddedPostgres(common)
    await command.stop()
    t.equal((await query(main.url, 'SELECT 1')).rowCount, 1)
    await main.stop()
  })
})

t.test('a first start that was killed is repeated', async t => {
  const directory = await makeDirectory(t)
  const child = runElsewhere(t, directory)
  const isMade = async () => (await readdir(directory)).some(name => /^postgres\.new-/.test(name))
  await waitUntil(isMade, 'the cluster is being made')
  await sleep(100)
  await kill(child)

  const postgres = await startEmbeddedPostgres(directory)
  t.equal((await query(postgres.url, 'SELECT 1')).rowCount, 1)
  await postgres.stop()
})

t.test('the reason for a failed start is one line', async t => {
  const directory = await makeDirectory(t)
  const file = join(directory, 'file')
  await writeFile(file, '')
  await t.rejects(startEmbeddedPostgres(file), {
    message: `Cannot write to ${file} (EEXIST)`,
    constructor: StartupError,
  })

  await startEmbeddedPostgres(directory).then(postgres => postgres.stop())
  await writeFile(join(directory, 'postgres_password'), 'wrong\n')
  await t.rejects(startEmbeddedPostgres(directory), { message: /postgres_password is not the password of/ })
  await writeFile(join(directory, 'postgres', 'postgresql.auto.conf'), 'work_mem = lots\n')
  await t.rejects(startEmbeddedPostgres(directory), { message: /^Postgres does not start: .*postgresql.auto.conf/ })
})

const notRoot = process.getuid?.() !== 0 && 'only root can'
t.test('as root, Postgres runs in a directory that only root may enter', { skip: notRoot }, async t => {
  const parent = await makeDirectory(t)
  await chmod(parent, 0o700)
  const directory = join(parent, 'data')
  await mkdir(directory, { mode: 0o700 })

  const postgres = await startEmbeddedPostgres(directory)
  const status = await readFile(`/proc/${await readServerPid(directory)}/status`, 'utf8')
  t.notMatch(status, /^Uid:\t0/m)
  await query(postgres.url, 'CREATE TABLE notes AS SELECT 1 AS note; CHECKPOINT')
  await postgres.stop()
})

t.test('only the owner may open the data directory and its files', async t => {
  await chmod(common, 0o755) // as earlier versions did
  const postgres = await startEmbeddedPostgres(common)
  t.same(await openedPaths(common), [])
  await postgres.stop()
})

t.test('as root, Postgres runs as the owner of the directory', { skip: notRoot }, async t => {
  const directory = await makeDirectory(t)
  const [uid, gid] = [2, 2] // the user bin, which every system has and no program runs as
  await chown(directory, uid, gid)
  const postgres = await startEmbeddedPostgres(directory)
  t.same(postgres.user, { uid, gid, shared_name: null })
  await postgres.stop()
  const entries = await readdir(directory, { recursive: true })
  const owners = await Promise.all([directory, ...entries.map(name => join(directory, name))].map(path => stat(path)))
  t.same([...new Set(owners.map(owner => owner.uid))], [uid])
  t.same(await openedPaths(directory), [])
})

t.test('as root, Postgres runs as nobody if root owns everything, and says so', { skip: notRoot }, async t => {
  const directory = await makeDirectory(t)
  const first = await startEmbeddedPostgres(directory)
  t.equal(first.user?.shared_name, 'nobody')
  await first.stop()
  const second = await startEmbeddedPostgres(directory)
  t.equal(second.user?.shared_name, 'nobody', 'although it is now the owner')
  await second.stop()
})

t.test('Postgres is restarted on its port when it ends', async t => {
  const pauses: number[] = []
  const restarts = { pauses_ms: [1, 2, 3], well_ms: 3_600_000 }
  const postgres = await startEmbeddedPostgres(common, { restarts, onRestart: pause => pauses.push(pause) })
  let isFailed = false
  const failed = postgres.failed.catch(error => {
    isFailed = true
    return error
  })
  const url = postgres.url
  for (const expected of [[1], [1, 2], [1, 2, 3]]) {
    process.kill(await readServerPid(common), 'SIGKILL')
    await waitUntil(() => pauses.length >= expected.length, 'it is started again')
    await waitUntil(() => query(url, 'SELECT note FROM notes').catch(() => null), 'it answers')
    t.same(pauses, expected)
    // Including its locks: nobody else may take it during the restart.
    await waitUntil(() => isLocked(url), 'its locks are taken')
  }
  t.equal(isFailed, false)
  process.kill(await readServerPid(common), 'SIGKILL')
  t.match(await failed, { message: /^Postgres does not stay up: /, constructor: StartupError })
  await postgres.stop()
})

t.test('the number of restarts is reset after a good run', async t => {
  const pauses: number[] = []
  const restarts = { pauses_ms: [1], well_ms: 0 }
  const postgres = await startEmbeddedPostgres(common, { restarts, onRestart: pause => pauses.push(pause) })
  for (let n = 1; n <= 2; n++) {
    process.kill(await readServerPid(common), 'SIGKILL')
    await waitUntil(() => pauses.length >= n, 'it is started again')
    await waitUntil(() => query(postgres.url, 'SELECT 1').catch(() => null), 'it answers')
    await waitUntil(() => isLocked(postgres.url), 'its locks are taken')
  }
  t.same(pauses, [1, 1])
  await postgres.stop()
})

t.test('stop does not restart Postgres, and kill ends it even if it hangs', async t => {
  const pauses: number[] = []
  const postgres = await startEmbeddedPostgres(common, { onRestart: pause => pauses.push(pause) })
  const pid = await readServerPid(common)
  process.kill(pid, 'SIGSTOP')
  await postgres.kill()
  t.throws(() => process.kill(pid, 0), { code: 'ESRCH' })
  t.same(pauses, [])
})

/** True if a Mailbrook holds the lock on the server. */
async function isLocked(url: string): Promise<boolean> {
  const { rowCount } = await query(url, `SELECT FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock'`)
  return rowCount === 1
}

/** Paths that others than the owner may open. */
async function openedPaths(directory: string): Promise<string[]> {
  const names = ['', ...(await readdir(directory, { recursive: true }))]
  const modes = await Promise.all(
    names.map(async name => {
      const file = await stat(join(directory, name)).catch(() => null) // some files come and go
      return file && (file.mode & 0o077) !== 0 ? `${name} ${(file.mode & 0o777).toString(8)}` : null
    }),
  )
  return modes.filter(mode => mode !== null)
}

async function makeDirectory(t: Test): Promise<string> {
  const directory = await makeScratch('mailbrook-test-')
  await chmod(directory, 0o755)
  t.teardown(async () => {
    const left = await readServerPid(directory).catch(() => null)
    if (left) signal(left, 'SIGKILL')
    await rm(directory, { recursive: true, force: true, maxRetries: 10 })
  })
  return directory
}

/** Reads the process id from the first line. */
async function readServerPid(directory: string): Promise<number> {
  return Number.parseInt(await readFile(join(directory, 'postgres', 'postmaster.pid'), 'utf8'), 10)
}

async function query(url: string, text: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  return client.query(text).finally(() => client.end())
}

/** A process that uses the server as Mailbrook does. */
const program = `
  const { startEmbeddedPostgres } = await import(process.argv[1])
  const postgres = await startEmbeddedPostgres(process.argv[2]).catch(error => ({ url: error.message }))
  console.log(postgres.url)
  process.once('SIGTERM', () => postgres.stop().then(() => process.exit()))
`

function runElsewhere(t: Test, directory: string): ChildProcess {
  const module = import.meta.resolve('../../workers/embedded_postgres/start.ts')
  const args = ['--input-type=module', '-e', program, module, directory]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => kill(child))
  return child
}

async function startElsewhere(t: Test, directory: string): Promise<{ child: ChildProcess; url: string }> {
  const child = runElsewhere(t, directory)
  const [output] = child.stdout ? await once(child.stdout, 'data') : []
  const url = String(output).trim()
  if (!url.startsWith('postgres:')) throw new Error(url)
  return { child, url }
}

async function stopElsewhere(child: ChildProcess): Promise<void> {
  child.kill('SIGTERM')
  await once(child, 'exit')
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}

import { execFile } from 'node:child_process'
import { chmod, readFile, rmdir, stat, utimes } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { setUp } from '#flows/accounts/create_sandbox.ts'
import { findAccount } from '#sql/accounts/accounts.ts'
import * as clone from '#test/faults/fresh_clone.ts'
import { createDatabase } from '#test/support/database/database.ts'
import { findFreePort } from '#test/support/free_port.ts'
import { ROOT } from '#test/support/root.ts'
import { shows } from '#test/support/shows.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount, openWorld, SECRET_KEY } from '#test/support/world.ts'

const run = promisify(execFile)
const NODE = 'node_modules/.bin/node' // the Node that npm start uses
const START = [NODE, 'workers/all.ts']
const readme = await readFile(join(ROOT, 'README.md'), 'utf8')
const FIRST_KEY = /^API key \(shown this once\): mb_\w+$/m

const place = await openClone(t, clone.ordinaryUser)

t.test('npm start names a data directory it cannot write', async t => {
  const data = join(place.directory, '.data')
  await chmod(place.directory, 0o555)
  await refuses(t, new clone.Command(START, place), new RegExp(`^Cannot write to ${data}: EACCES`))
  await chmod(place.directory, 0o755)
  await run('mkdir', ['-m', '555', data])
  await refuses(t, new clone.Command(START, place), `Cannot write to ${data} (EACCES)`)
  await rmdir(data)
})

t.test('npm start for an ordinary user', async t => {
  const PORT = String(await findFreePort())
  const start = () => new clone.Command(START, place, { PORT })
  await t.test('on a taken port says so, and prints the key at the next start', async t => {
    const server = await listen(PORT)
    await refuses(t, start(), `Port ${PORT} is taken; set PORT to another.`)
    server.close()
  })
  const isReserved = Number(await readFile('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8').catch(() => 0)) > 1
  await t.test('on a port that it may not use says so', { skip: !isReserved }, async t => {
    const allowed = 'Only root and processes with CAP_NET_BIND_SERVICE may listen on port 1'
    await refuses(t, new clone.Command(START, place, { PORT: '1' }), `${allowed}; allow it, or set PORT to another.`)
  })
  const { url, key } = await tryOut(t, place, start)

  await t.test('npm run dev restarts after a change, and ends with its Postgres on Ctrl-C', async t => {
    const { scripts } = JSON.parse(await readFile(join(place.directory, 'package.json'), 'utf8'))
    const [, , ...words] = scripts.dev.split(' ') // exec node
    const mailbrook = new clone.Command([NODE, ...words], place, { PORT })
    await mailbrook.prints(/^Send one:$/m)
    await utimes(join(place.directory, 'api', 'routes', 'emails', 'emails.ts'), new Date(), new Date())
    await mailbrook.prints(/^Send one:$.*^Send one:$/ms)
    const postgres = await clone.findPostgres(place.directory)
    await mailbrook.end('SIGINT')
    t.notOk(await isAlive(postgres))
  })

  await t.test('waits for a request in progress, until a second Ctrl-C', async t => {
    const mailbrook = start()
    await mailbrook.prints(/^Send one:$/m)
    const postgres = await clone.findPostgres(place.directory)
    const body = new ReadableStream({ start: stream => stream.enqueue(Buffer.from('{')) }) // and no more
    const headers = { authorization: `Bearer ${key}` }
    const request = t.rejects(fetch(url, { method: 'POST', headers, body, duplex: 'half' } as RequestInit))
    await sleep(500)
    mailbrook.signal('SIGINT')
    await sleep(2_000)
    t.ok(await isAlive(mailbrook.pid))
    t.equal(await mailbrook.end('SIGINT', 10_000), 1)
    await request
    await waitUntil(async () => !(await isAlive(postgres)), 'Postgres has ended')
  })
})

t.test('npm start for root', { skip: !clone.root && 'only root can' }, async t => {
  const place = await openClone(t, clone.root as clone.Person)
  const PORT = String(await findFreePort())
  await tryOut(t, place, () => new clone.Command(START, place, { PORT }), false)
})

t.test('npm start with a DATABASE_URL', async t => {
  const PORT = String(await findFreePort())
  const DATABASE_URL = await createDatabase(t)
  const environment = { DATABASE_URL, SECRET_KEY, PORT, MAIL_TRANSPORT: 'smtp://user:pass@127.0.0.1:1' }
  const start = (more: Record<string, string>) => new clone.Command(START, place, { ...environment, ...more })
  await refuses(t, start({ SECRET_KEY: '' }), /^SECRET_KEY: required with DATABASE_URL, /)
  await refuses(t, start({ DATABASE_URL: 'postgres://a:b@127.0.0.1:1/c' }), /^The database of DATABASE_URL cannot be/)

  const mailbrook = start({})
  const { url, key, id } = await clone.runPrintedCurl(mailbrook, place)
  t.match(mailbrook.stdout, /^Mail is sent through 127\.0\.0\.1:1$/m)
  shows(t, await clone.readSettled(url, key, id), { status: 'delivered', events: [{}, { via: 'simulator' }] })
  t.equal(await mailbrook.end('SIGHUP'), 0, 'as when its terminal is closed')
  await t.rejects(clone.findPostgres(place.directory), { code: 'ENOENT' }, 'it started no Postgres')

  const npm = new clone.Command(['npm', 'start'], place, environment)
  await npm.prints(/^Send one:$/m)
  process.kill(npm.pid, 'SIGTERM') // npm alone, as a supervisor does
  t.equal(await npm.end(), 0, 'npm passes the signal on, and waits')

  await refuses(t, start({ SECRET_KEY: `${SECRET_KEY}.` }), /^SECRET_KEY is not the one this database was set up with/)
})

t.test('npm start names every wrong value, one line each', async t => {
  const command = new clone.Command(START, place, { PORT: 'http', SECRET_KEY: 'short', LOG_LEVEL: 'loud' })
  t.equal(await command.end(), 1)
  t.match(command.stderr, /^SECRET_KEY: .+\nPORT: .+\nLOG_LEVEL: .+\n$/)
})

t.test('concurrent first starts create one account and one key', async t => {
  const { pool, secrets } = await openWorld(t)
  const keys = await Promise.all([setUp(pool, secrets), setUp(pool, secrets), setUp(pool, secrets)])
  shows(t, keys.filter(Boolean), [/^mb_\w{49}$/])
  t.equal(keys.filter(Boolean).length, 1)
})

t.test('a start with accounts of other names creates no account', async t => {
  const world = await openWorld(t)
  await newAccount(world)
  t.equal(await setUp(world.pool, world.secrets), null)
  t.equal(await findAccount(world.pool, 'default'), null)
})

/** Does what a new user does; returns the output of the first start. `isWhole`: includes checks that are the same for every user. */
async function tryOut(t: Test, place: clone.Place, start: () => clone.Command, isWhole = true): Promise<clone.Sent> {
  const admin = async (...words: string[]) => {
    const command = new clone.Command([NODE, 'workers/admin.ts', ...words], place)
    t.equal(await command.end(), 0)
    return command.stdout
  }
  const mailbrook = start()
  const first = await clone.runPrintedCurl(mailbrook, place)
  const postgres = await clone.findPostgres(place.directory)

  await t.test('prints a curl command that sends an email', async t => {
    t.match(mailbrook.stdout, FIRST_KEY)
    const [printed = ''] = /^curl .*\\\n.*'$/m.exec(mailbrook.stdout) ?? []
    const indented = printed.replace(/^/gm, '    ').replace(first.key, 'mb_...').replace(/:\d+/, ':3000')
    t.ok(readme.includes(indented), 'the command in the README')
    const email = await clone.readSettled(first.url, first.key, first.id)
    shows(t, email, { status: 'delivered', events: [{ type: 'sent' }, { type: 'delivered' }] })
  })

  await t.test('lets the operator list and show the captured email', async t => {
    const list = await admin('captured', 'list')
    const [, captured = ''] = /^(\S+) {2}\S+ {2}anna@sandbox\.internal {2}\d+ bytes {2}Hello\n$/.exec(list) ?? []
    const message = await admin('captured', 'show', captured)
    t.match(message, /^Subject: Hello\r$/m)
    t.match(message, /^DKIM-Signature: /m)
    if (isWhole) t.equal(await admin('captured', 'show', first.id), message)
  })

  if (isWhole) {
    await t.test('refuses to start twice in one directory', async t => {
      const message = `Mailbrook is already running in ${join(place.directory, '.data')}, process ${mailbrook.pid}`
      await refuses(t, start(), message)
    })
  }

  // npm forwards a signal that the terminal has sent to all processes already; a shell that execs, like bash, gets it twice.
  await t.test('ends on Ctrl-C, even if npm repeats it, and leaves no process', async t => {
    t.ok(await isAlive(postgres))
    if (isWhole) {
      mailbrook.signal('SIGINT')
      await sleep(20)
    }
    t.equal(await mailbrook.end('SIGINT'), 0)
    t.equal(mailbrook.stderr, '')
    t.notOk(await isAlive(postgres))
    await listen(new URL(first.url).port).then(server => server.close())
  })

  await t.test('restarts with the same data, prints no key, and ends on SIGTERM', async t => {
    const mailbrook = start()
    const again = await clone.runPrintedCurl(mailbrook, place, text => text.replace('YOUR_API_KEY', first.key))
    t.notMatch(mailbrook.stdout, /mb_\w/)
    for (const { id } of [first, again]) {
      shows(t, await clone.readSettled(first.url, first.key, id), { status: 'delivered' })
    }
    const postgres = await clone.findPostgres(place.directory)
    t.ok(await isAlive(postgres))
    t.equal(await mailbrook.end('SIGTERM'), 0)
    t.equal(mailbrook.stderr, '')
    t.notOk(await isAlive(postgres))
  })
  return first
}

async function openClone(t: Test, person: clone.Person): Promise<clone.Place> {
  const place = await clone.makeClone(person)
  t.teardown(() => clone.removeClone(place))
  const modules = join(ROOT, 'node_modules')
  const copy = (option: string) => run('cp', [option, modules, place.directory])
  const { mode } = await stat(join(modules, 'pg', 'package.json'))
  if (person.uid === undefined || mode & 0o004) await copy('-al').catch(() => copy('-a'))
  else await copy('-a').then(() => run('chown', ['-R', `${person.uid}`, place.directory])) // installed for its owner alone
  return place
}

/** Expects exit code 1 and one line with the reason. */
async function refuses(t: Test, command: clone.Command, line: string | RegExp): Promise<void> {
  t.equal(await command.end(), 1)
  const [said = '', ...more] = command.stderr.split('\n')
  t.match(said, line)
  t.same(more, [''])
}

async function isAlive(pid: number): Promise<boolean> {
  if (pid === 0) return false
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  // It has ended as a zombie, as in some containers.
  return !/\) Z/.test(await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''))
}

async function listen(port: string): Promise<Server> {
  const server = createServer().listen(Number(port))
  await new Promise((resolve, reject) => server.once('listening', resolve).once('error', reject))
  return server
}

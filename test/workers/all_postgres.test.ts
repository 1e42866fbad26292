import { execFile } from 'node:child_process'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { kindOf } from '#lib/log_repeats.ts'
import * as clone from '#test/faults/fresh_clone.ts'
import { findFreePort } from '#test/support/free_port.ts'
import { ROOT } from '#test/support/root.ts'
import { waitUntil } from '#test/support/wait_until.ts'

const run = promisify(execFile)
const START = ['node_modules/.bin/node', 'workers/all.ts']

const place = await clone.makeClone(clone.ordinaryUser)
t.teardown(() => clone.removeClone(place))
await run('cp', ['-al', join(ROOT, 'node_modules'), place.directory]).catch(() =>
  run('cp', ['-a', join(ROOT, 'node_modules'), place.directory]),
)
/** The first start is slow on a busy machine. */
const START_MS = 120_000
const PORT = String(await findFreePort())
let key = ''

t.test('npm start continues after its Postgres was killed', async t => {
  const { mailbrook, send } = await start(t)
  const sending = Promise.all(Array.from({ length: 20 }, () => send().catch(() => 0)))
  process.kill(await clone.findPostgres(place.directory), 'SIGKILL')
  await sending
  await mailbrook.prints(/the embedded Postgres has ended and is started again/)
  await waitUntil(async () => (await send().catch(() => 0)) === 200, 'an email is accepted')
  t.equal(await mailbrook.end('SIGTERM'), 0)
  t.same(listRepeats(mailbrook.stdout), [], 'one line a second of each kind')
})

t.test('npm start ends within 10 seconds of SIGTERM while its Postgres hangs', async t => {
  const { mailbrook } = await start(t)
  const pid = await clone.findPostgres(place.directory)
  const children = await childrenOf(pid)
  for (const one of [pid, ...children]) process.kill(one, 'SIGSTOP')
  t.equal(await mailbrook.end('SIGTERM', 10_000), 1, 'by itself')
  t.match(mailbrook.stderr, /^The database does not respond: pending work is left as it is\.$/m)
  for (const one of children) tell(one, 'SIGCONT') // they notice that their server is gone
})

t.test('npm start ends with code 1 when its Postgres cannot be started again', async t => {
  const { mailbrook } = await start(t)
  await rm(join(place.directory, '.data', 'postgres', 'global', 'pg_control'))
  process.kill(await clone.findPostgres(place.directory), 'SIGKILL')
  t.equal(await mailbrook.end(undefined, 60_000), 1)
  t.match(mailbrook.stderr, /^Postgres does not stay up: .*pg_control/m)
  t.equal(mailbrook.stdout.split('the embedded Postgres has ended and is started again').length - 1, 3)
})

async function start(t: Test) {
  const mailbrook = new clone.Command(START, place, { PORT, SENDS_PER_MINUTE: '0' })
  t.teardown(() => mailbrook.signal('SIGKILL'))
  const printed = await mailbrook.prints(/^API key.*: mb_\w+$|^Send one:$/m, START_MS)
  key = /mb_\w+/.exec(printed)?.[0] ?? key
  await mailbrook.prints(/^Receive one/m)
  const email = { from: 'hello@sandbox.internal', to: ['anna@sandbox.internal'], subject: 'Hello', text: 'Hello' }
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const send = async () => {
    const body = JSON.stringify(email)
    return (await fetch(`http://127.0.0.1:${PORT}/api/emails`, { method: 'POST', headers, body })).status
  }
  return { mailbrook, send }
}

/** Kinds of warnings and errors that one process logged twice within a second. */
function listRepeats(output: string): string[] {
  const records = output.split('\n').flatMap(line => (line.startsWith('{') ? [JSON.parse(line)] : []))
  const kinds = Map.groupBy(
    records.filter(({ level }) => level >= 40),
    ({ pid, level, msg }) => `${pid} ${level} ${kindOf(msg)}`,
  )
  const isRepeat = ({ time }: { time: number }, n: number, all: { time: number }[]) =>
    n > 0 && time - (all[n - 1]?.time ?? 0) < 990
  return [...kinds].filter(([, all]) => all.some(isRepeat)).map(([kind]) => kind)
}

async function childrenOf(parent: number): Promise<number[]> {
  const pids = (await readdir('/proc')).map(Number).filter(Boolean)
  const parents = await Promise.all(
    pids.map(
      async pid => /^\d+ \(.*\) \S (\d+)/s.exec(await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''))?.[1],
    ),
  )
  return pids.filter((_, n) => Number(parents[n]) === parent)
}

function tell(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // The process has ended.
  }
}

import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { SANDBOX_DOMAIN } from '#flows/accounts/create_sandbox.ts'
import { sql } from '#sql/pool.ts'
import { interleave, openStage, report, type Stage } from '#test/bench/support/stage.ts'
import { ROOT } from '#test/support/root.ts'

const COUNT = 8_000
const PORT = 4605
const DISCARD_PORT = 4606
const TO = `anna@${SANDBOX_DOMAIN}`

const run = promisify(execFile)

/** Received messages per second, stored with a job that parses them, compared with the same library discarding them. */
export async function benchInbound(): Promise<void> {
  const stage = await openStage()
  try {
    const smtp = await stage.spawn('workers/smtp.ts', {
      SMTP_PORT: String(PORT),
      SMTP_CONNECTIONS_PER_ADDRESS: '100',
      SMTP_GREETING_DELAY_MS: '0',
    })
    await stage.spawn('test/bench/support/discard_server.ts', { PORT: String(DISCARD_PORT) })
    const measure = (port: number, count: number) => async () => {
      const seconds = await send({ LOAD_PORT: port, LOAD_COUNT: count })
      if (port === PORT) await checkStored(stage, count)
      return count / seconds
    }
    await measure(PORT, 1_000)()
    await measure(DISCARD_PORT, 1_000)()
    const figures = await interleave({
      'stored and queued': measure(PORT, COUNT),
      discarded: measure(DISCARD_PORT, COUNT),
    })
    const ratio = figures['stored and queued'] / figures.discarded
    report('inbound messages', `${(100 * ratio).toFixed(0)} % of discarding them`, '>= 35 %', ratio >= 0.35)
    await measureMemory(stage, smtp.process.pid as number)
  } finally {
    await stage.close()
  }
}

const MB = 1024 * 1024
const LARGE = 25 * MB

/** How much memory the process takes for four messages of 25 MB at once. */
async function measureMemory(stage: Stage, pid: number): Promise<void> {
  const before = readMemory(pid, 'VmRSS')
  writeFileSync(`/proc/${pid}/clear_refs`, '5') // resets the peak (proc_pid_clear_refs(5))
  const seconds = await send({ LOAD_PORT: PORT, LOAD_COUNT: 4, LOAD_SESSIONS: 4, LOAD_BYTES: LARGE })
  const grown = (readMemory(pid, 'VmHWM') - before) / MB
  await checkStored(stage, 4)
  console.log(`  four messages of 25 MB at once took ${seconds.toFixed(1)} s`)
  report(
    'memory for four messages of 25 MB',
    `${grown.toFixed(0)} MB more than ${(before / MB).toFixed(0)} MB`,
    '< 64 MB',
    grown < 64,
  )
}

function readMemory(pid: number, field: string): number {
  return Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024
}

async function send(load: Record<string, number>): Promise<number> {
  const values = Object.entries(load).map(([name, value]) => [name, String(value)])
  const env = { PATH: process.env.PATH, LOAD_TO: TO, ...Object.fromEntries(values) }
  const { stdout } = await run(process.execPath, [join(ROOT, 'test/bench/support/smtp_load.ts')], { env })
  return JSON.parse(stdout).seconds
}

/** Checks that the messages are stored, without which the figure would be wrong. */
async function checkStored({ pool }: Stage, count: number): Promise<void> {
  const stored = await pool.pg.query('SELECT count(*)::int FROM received_emails')
  const queued = await pool.pg.query(
    `SELECT sum(json_array_length(payload -> 'ids'))::int AS count FROM graphile_worker._private_jobs`,
  )
  for (const { rows } of [stored, queued]) {
    if (rows[0].count !== count) throw new Error(`${rows[0].count} of ${count} messages`)
  }
  await pool.run(sql.unsafe`TRUNCATE received_emails, blobs, blob_chunks, attachments CASCADE`)
  await pool.run(sql.unsafe`TRUNCATE graphile_worker._private_jobs`)
}

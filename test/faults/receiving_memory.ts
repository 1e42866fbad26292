import { setTimeout as sleep } from 'node:timers/promises'
import { MEGABYTE, measureMemory, memoryEnvironment } from '#test/faults/support/measure_memory.ts'
import type { Stage } from '#test/faults/support/stage.ts'
import { findFreePort } from '#test/support/free_port.ts'
import { ALLOWED } from '#test/support/http/fetching.ts'
import { openClient } from '#test/support/smtp/smtp_client.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { announce, insertUnchecked } from '#test/support/webhooks/announced_events.ts'
import { behaviours, startHostileReceiver } from '#test/support/webhooks/hostile_receiver.ts'
import { Report, readOptions, runCampaign } from './campaign.ts'

/** `mails`: messages of 25 MB that arrive at once; `seconds` of events for hostile receivers. */
type Options = { mails: number; seconds: number; hanging: number; rest_s: number; most_mb: number }

const MAIL_BYTES = 25 * MEGABYTE
const EVERY_MS = 200
const READ_MS = 600_000

/** Measures the memory that an SMTP process takes while it stores large messages, and how much it releases. */
async function memoryOfSmtp(stage: Stage, options: Options): Promise<Report> {
  return withTeardown(async t => {
    const report = new Report()
    const { smtp, port } = await startSmtp(stage)
    await receiveLarge(stage, t, port, 1, 100)
    const load = () => receiveLarge(stage, t, port, options.mails, MAIL_BYTES)
    await measureMemory(report, smtp, { [`${options.mails} messages of 25 MB`]: load }, options)
    return report
  })
}

/** Measures the memory of a worker that parses large messages, and of one whose webhooks have hostile receivers. */
async function memoryOfWorker(stage: Stage, options: Options): Promise<Report> {
  return withTeardown(async t => {
    const report = new Report()
    const receiver = await startHostileReceiver(t)
    const { port } = await startSmtp(stage)
    const { NODE_OPTIONS, ...environment } = memoryEnvironment()
    const worker = stage.start('workers/worker.ts', {
      ...{ MAIL_TRANSPORT: 'capture', LOG_LEVEL: 'error', FETCH_ALLOW: ALLOWED, FETCH_PORTS: String(receiver.port) },
      ...environment,
      NODE_OPTIONS: `${NODE_OPTIONS} --max-semi-space-size=4`,
    })
    const subscribe = (name: string) =>
      insertUnchecked(stage, stage.account.id, `http://${ALLOWED}:${receiver.port}/${name}`)
    await subscribe('is_well')
    await tell(stage, 5)
    const names = Object.keys(behaviours).filter(name => name !== 'is_well')
    for (const name of [...names, ...Array(options.hanging).fill('hangs')]) await subscribe(name)
    await measureMemory(
      report,
      worker,
      {
        [`${options.seconds} s of hostile webhooks`]: () => tell(stage, options.seconds),
        [`${options.mails} messages of 25 MB to read`]: async () => {
          await receiveLarge(stage, t, port, options.mails, MAIL_BYTES)
          const unread = `SELECT FROM received_emails WHERE state = 'stored'`
          const isRead = async () => (await stage.pool.pg.query(unread)).rows.length === 0
          await waitUntil(isRead, 'every message is read', READ_MS)
        },
      },
      options,
    )
    return report
  })
}

type Teardown = { teardown(end: () => unknown): void }

async function withTeardown<Result>(act: (t: never) => Promise<Result>): Promise<Result> {
  const ends: (() => unknown)[] = []
  const t: Teardown = { teardown: end => void ends.push(end) }
  try {
    return await act(t as never)
  } finally {
    for (const end of ends) await end()
  }
}

async function startSmtp(stage: Stage) {
  const port = await findFreePort()
  await stage.pool.pg.query('UPDATE domains SET receiving = true')
  const smtp = stage.start('workers/smtp.ts', {
    ...{ SMTP_PORT: String(port), SMTP_GREETING_DELAY_MS: '0', LOG_LEVEL: 'info' },
    ...memoryEnvironment(),
  })
  await smtp.says(/mail is received/)
  return { smtp, port }
}

/** Sends different messages at the same time. */
async function receiveLarge({ account }: Stage, t: never, port: number, count: number, bytes: number): Promise<void> {
  const line = `${'a'.repeat(76)}\r\n`
  const type = 'Content-Type: application/octet-stream; name=a.bin\r\nContent-Transfer-Encoding: base64'
  const send = async (n: number) => {
    const client = await openClient(t, port)
    const head = `Message-ID: <${n}-${bytes}@y.com>\r\n${type}\r\n\r\n`
    const reply = await client.send(`me@${account.domain}`, head + line.repeat(Math.floor(bytes / line.length)))
    if (!reply.startsWith('250')) throw new Error(reply)
    client.socket.destroy()
  }
  await Promise.all(Array.from({ length: count }, (_, n) => send(n)))
}

async function tell(stage: Stage, seconds: number): Promise<void> {
  for (let n = 0; n < (seconds * 1_000) / EVERY_MS; n++) {
    await announce(stage, stage.account.id, 1)
    await sleep(EVERY_MS)
  }
}

/** node test/faults/receiving_memory.ts [--mails 10] [--seconds 60] [--hanging 100] [--rest_s 60] */
if (import.meta.main) {
  const options = readOptions({ mails: 10, seconds: 60, hanging: 100, rest_s: 60, most_mb: 600 })
  await runCampaign('memory that an SMTP process takes and releases', stage => memoryOfSmtp(stage, options))
  await runCampaign('memory that a worker takes and releases', stage => memoryOfWorker(stage, options))
}

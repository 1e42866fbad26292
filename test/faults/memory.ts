import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { newId } from '../../lib/ids.ts'
import { Report, readOptions, runCampaign } from './campaign.ts'
import type { Child } from './child.ts'
import { heavyBodies } from './heavy_bodies.ts'
import { askMemory, TELLS_MEMORY } from './memory_usage.ts'
import type { Stage } from './stage.ts'

/** `mails`: with 999 empty attachments each; `uploads`: emails with a file of 25 MB; `rest_s`: how long a load is over. */
type Options = { mails: number; lists: number; uploads: number; rest_s: number; most_mb: number }

const MEGABYTE = 1 << 20
const FILE_BYTES = 25 * MEGABYTE
/** Megabytes that a process may take more, a minute after a load. */
const MOST_KEPT = 100

/**
 * Measures the memory that a web process takes under the loads that strangers and callers can put on it, and how much of
 * it remains when they are over.
 */
export async function memory(stage: Stage, options: Options): Promise<Report> {
  const report = new Report()
  await receiveMails(stage, options.mails)
  const web = await stage.startWeb({ LOG_LEVEL: 'info', ...TELLS_MEMORY, ...environment() })
  const ask = (path: string, init: RequestInit = {}) => request(stage, web.url + path, init)
  await ask('/api/emails/receiving?limit=1')
  await post(ask, '/api/emails', JSON.stringify(email(stage, {})))
  await sleep(2_000)
  const before = web.child.memory('VmRSS')
  report.note({ before_mb: toMegabytes(before) })

  const loads: Record<string, () => Promise<unknown>> = {
    [`${options.lists} lists of received emails`]: () =>
      atOnce(options.lists, () => ask('/api/emails/receiving?limit=100')),
    'a body of each kind': async () => {
      for (const { path, text } of heavyBodies(stage.account.domain)) await post(ask, path, text())
    },
    '10 texts of 10 MB': () =>
      atOnce(10, () =>
        post(ask, '/api/emails', JSON.stringify(email(stage, { text: 'x'.repeat(10 * MEGABYTE - 1_000) }))),
      ),
    [`${options.uploads} files of 25 MB`]: () => {
      const content = randomBytes(FILE_BYTES).toString('base64')
      const body = JSON.stringify(email(stage, { attachments: [{ filename: 'a.bin', content }] }))
      return atOnce(options.uploads, () => post(ask, '/api/emails', body))
    },
  }
  for (const [name, run] of Object.entries(loads)) {
    web.child.forgetPeak()
    await run()
    const peak = web.child.memory('VmHWM')
    const rests = await watch(web.child, options.rest_s)
    const kept = toMegabytes(web.child.memory('VmRSS') - before)
    report.note({ [name]: { peak_mb: toMegabytes(peak), ...rests, kept_mb: kept } })
    report.expect(toMegabytes(peak) < options.most_mb, `${name}: ${toMegabytes(peak)} MB`)
    report.expect(
      options.rest_s < 60 || kept < MOST_KEPT,
      `${name}: ${kept} MB are still taken after ${options.rest_s} s`,
    )
  }
  return report
}

/** Variables that may make a process keep less, to try: `MALLOC_ARENA_MAX=2 node test/faults/memory.ts`. */
function environment(): Record<string, string> {
  const names = ['MALLOC_ARENA_MAX', 'MALLOC_TRIM_THRESHOLD_', 'MALLOC_MMAP_THRESHOLD_', 'LD_PRELOAD']
  const given = names.flatMap(name => (process.env[name] ? [[name, process.env[name]]] : []))
  const { WEB_OPTIONS } = process.env
  return {
    ...Object.fromEntries(given),
    ...(WEB_OPTIONS ? { NODE_OPTIONS: `${TELLS_MEMORY.NODE_OPTIONS} ${WEB_OPTIONS}` } : {}),
  }
}

/** RSS with what Node knows of it, in MB, at three moments of the rest. */
async function watch(child: Child, seconds: number): Promise<Record<string, string>> {
  const moments: Record<string, string> = {}
  let passed = 0
  for (const moment of [0, seconds / 4, seconds / 2, seconds]) {
    await sleep((moment - passed) * 1_000)
    passed = moment
    const { rss, heapTotal, heapUsed, external } = await askMemory(child)
    moments[`after_${moment}_s`] =
      `${toMegabytes(rss)} (heap ${toMegabytes(heapUsed)} of ${toMegabytes(heapTotal)}, external ${toMegabytes(external)})`
  }
  return moments
}

function toMegabytes(bytes: number): number {
  return Math.round(bytes / MEGABYTE)
}

const email = (stage: Stage, fields: object) => ({
  from: `a@${stage.account.domain}`,
  to: ['delivered@simulator.internal'],
  subject: 'Hi',
  ...fields,
})

function atOnce(count: number, run: () => Promise<unknown>): Promise<unknown> {
  return Promise.all(Array.from({ length: count }, run))
}

type Ask = (path: string, init?: RequestInit) => Promise<number>

function post(ask: Ask, path: string, body: string): Promise<number> {
  return ask(path, { method: 'POST', body })
}

async function request(stage: Stage, url: string, init: RequestInit): Promise<number> {
  const headers = { authorization: `Bearer ${stage.account.key}`, 'content-type': 'application/json' }
  const response = await fetch(url, { ...init, headers })
  let bytes = 0
  for await (const piece of response.body ?? []) bytes += piece.length
  if (response.status >= 500) throw new Error(`${url}: ${response.status}`)
  return bytes
}

/** As they lie there when they are read. */
async function receiveMails({ pool, account }: Stage, count: number): Promise<void> {
  await pool.pg.query(
    `WITH emails AS (
       INSERT INTO received_emails (account_id, id, domain_id, state, mail_from, received_for, client, sha256, size)
       SELECT $1, id, $2, 'parsed', '', '{}', '{}', '', 1 FROM unnest($3::uuid[]) AS id
       RETURNING account_id, id
     )
     INSERT INTO received_attachments (account_id, id, received_email_id, position, filename, content_type,
       content_disposition, size)
     SELECT account_id, gen_random_uuid(), id, n, 'attachment', 'application/octet-stream', 'attachment', 0
     FROM emails, generate_series(1, 999) AS n`,
    [account.id, account.domain_id, Array.from({ length: count }, newId)],
  )
}

if (import.meta.main) {
  const defaults = { mails: 100, lists: 10, uploads: 8, rest_s: 60, most_mb: 600 }
  await runCampaign('What a web process takes of memory, and gives back', stage => memory(stage, readOptions(defaults)))
}

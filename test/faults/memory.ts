import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { newId } from '#lib/ids.ts'
import { MEGABYTE, measureMemory, memoryEnvironment } from '#test/faults/support/measure_memory.ts'
import type { Stage } from '#test/faults/support/stage.ts'
import { Report, readOptions, runCampaign } from './campaign.ts'
import { heavyBodies } from './heavy_bodies.ts'

/** `mails`: with 999 empty attachments each; `uploads`: emails with a file of 25 MB; `rest_s`: time to rest after each load. */
type Options = { mails: number; lists: number; uploads: number; batches: number; rest_s: number; most_mb: number }

const FILE_BYTES = 25 * MEGABYTE

/**
 * Measures the memory that a web process takes under loads that strangers and callers can cause, and how much of it remains
 * afterwards.
 */
async function memory(stage: Stage, options: Options): Promise<Report> {
  const report = new Report()
  await receiveMails(stage, options.mails)
  const web = await stage.startWeb({ LOG_LEVEL: 'info', ...memoryEnvironment() })
  const ask = (path: string, init: RequestInit = {}) => request(stage, web.url + path, init)
  await ask('/api/emails/receiving?limit=1')
  await post(ask, '/api/emails', JSON.stringify(email(stage, {})))
  await sleep(2_000)
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
    [`${options.batches} batches of 100 emails with 500 KB of html each`]: () => {
      const html = (n: number) => `<p>${n} ${'{{name}}, <b>ünïcode</b> '.repeat(19_000)}`
      const items = Array.from({ length: 100 }, (_, n) => email(stage, { html: html(n), variables: { name: 'Ann' } }))
      const body = JSON.stringify(items)
      return atOnce(options.batches, () => post(ask, '/api/emails/batch', body))
    },
  }
  await measureMemory(report, web.child, loads, options)
  return report
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
  const response = await fetch(url, { ...init, headers }).catch(error => {
    // A body that is too long is refused before it is read, and the connection is closed during the upload.
    if (init.body && ['EPIPE', 'ECONNRESET'].includes(error.cause?.code)) return null
    throw error
  })
  if (!response) return 0
  let bytes = 0
  for await (const piece of response.body ?? []) bytes += piece.length
  if (response.status >= 500) throw new Error(`${url}: ${response.status}`)
  return bytes
}

/** The messages as stored when they are read. */
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
  const defaults = { mails: 100, lists: 10, uploads: 8, batches: 4, rest_s: 60, most_mb: 600 }
  await runCampaign('memory that a web process takes and releases', stage => memory(stage, readOptions(defaults)))
}

import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { createBlobs } from '#flows/files/blobs.ts'
import { parseEmails } from '#flows/receiving/parse_email.ts'
import { parseMessage } from '#lib/receiving/parse/parse_message.ts'
import type { ReceivedEmailId } from '#sql/receiving/received_emails.ts'
import { openStage, type Stage } from '#test/bench/support/stage.ts'
import { storeContent } from '#test/support/receiving.ts'

const MEBIBYTE = 1024 * 1024
const LINE = 'Words that somebody wrote, with some =C3=A9 in them, and more of them until it ends.\r\n'

/** Messages of about this size parsed per second, with as many threads as the program has. */
async function measureParseRate(bytes: number, seconds = 3): Promise<number> {
  const raw = ordinary(bytes)
  await Promise.all([parseMessage(new Uint8Array(raw)), parseMessage(new Uint8Array(raw))])
  const end = performance.now() + seconds * 1_000
  let count = 0
  const read = async () => {
    for (; performance.now() < end; count++) await parseMessage(new Uint8Array(raw))
  }
  await Promise.all(Array.from({ length: 4 }, read))
  return count / seconds
}

/** Resident memory in MiB, before and at the peak, while `count` messages of 25 MB are parsed at once. */
async function measureParseMemory(stage: Stage, count = 4): Promise<{ before: number; peak: number }> {
  const blobs = createBlobs(stage)
  const ids = await storeLarge(stage, count)
  global.gc?.()
  await sleep(500)
  writeFileSync('/proc/self/clear_refs', '5')
  const before = memory('VmRSS')
  await Promise.all(ids.map(id => parseEmails({ ...stage, blobs }, [id])))
  const peak = memory('VmHWM')
  const { rows } = await stage.pool.pg.query(
    'SELECT count(*)::int AS count FROM received_attachments WHERE size > 18000000',
  )
  if (rows[0].count !== count) throw new Error(`${rows[0].count} of ${count} were read`)
  return { before, peak }
}

async function storeLarge(stage: Stage, count: number): Promise<ReceivedEmailId[]> {
  const { pool } = stage
  const { rows } = await pool.pg.query('SELECT account_id, id AS domain_id FROM domains LIMIT 1')
  const recipients = [{ ...rows[0], recipient: 'me@acme.com' }]
  const client = { address: '127.0.0.1', helo: 'y.com', name: null, tls: null }
  for (let n = 0; n < count; n++) {
    await storeContent({ ...stage, blobs: createBlobs(stage) }, { mail_from: '', recipients, client }, large())
  }
  return (await pool.pg.query('SELECT account_id, id FROM received_emails')).rows
}

function ordinary(bytes: number): Buffer {
  const part = (type: string, length: number) =>
    [
      '--b',
      `Content-Type: text/${type}; charset=utf-8`,
      'Content-Transfer-Encoding: quoted-printable',
      '',
      LINE.repeat(length / LINE.length),
    ].join('\r\n')
  const head = Array.from({ length: 15 }, (_, n) => `X-Header-${n}: some words and a number ${n}`)
  const own = ['From: Ann <a@y.com>', 'To: me@acme.com', 'Subject: =?utf-8?Q?caf=C3=A9?=', 'MIME-Version: 1.0']
  const type = 'Content-Type: multipart/alternative; boundary=b'
  const half = Math.max(0, (bytes - 1_000) / 2)
  return Buffer.from([...head, ...own, type, '', part('plain', half), part('html', half), '--b--', ''].join('\r\n'))
}

function large(): Buffer {
  const content = randomBytes(18 * MEBIBYTE)
    .toString('base64')
    .replace(/.{76}/g, '$&\r\n')
  const head = 'Content-Type: application/zip; name=a.zip\r\nContent-Transfer-Encoding: base64'
  return Buffer.from(`From: a@y.com\r\nSubject: large\r\n${head}\r\n\r\n${content}`)
}

function memory(field: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync('/proc/self/status', 'utf8')
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024
}

/** node --expose-gc test/bench/parse.ts */
async function main(): Promise<void> {
  for (const [name, bytes] of Object.entries({ '4 KB': 4_000, '100 KB': 100_000 })) {
    console.log(`${name}: ${Math.round(await measureParseRate(bytes))} messages/s`)
  }
  const stage = await openStage()
  try {
    const { before, peak } = await measureParseMemory(stage)
    console.log(`four messages of 25 MB: ${Math.round(before)} MiB before, ${Math.round(peak)} MiB at the peak`)
  } finally {
    await stage.close()
  }
}

if (import.meta.main) await main()

import { Readable } from 'node:stream'
import { createTransport, type SendMailOptions } from 'nodemailer'
import { createBlobs } from '#flows/files/blobs.ts'
import type { Foundation } from '#flows/process/run_process.ts'
import { createReceiveEmail, type Envelope as Received } from '#flows/receiving/receive_email.ts'
import { readContent } from '#lib/receiving/smtp/content.ts'
import { LineEnds } from '#lib/receiving/smtp/line_ends.ts'
import type { ReceivedEmailId } from '#sql/receiving/received_emails.ts'
import { parse_email } from '#tasks/parse_email.ts'
import type { Work } from '#tasks/task.ts'
import { startReceiving } from './database/states.ts'
import { newAccount, type TestAccount } from './world.ts'

/** Limits that no test message exceeds. */
const LIMITS = { size: 1 << 30, headers: 1 << 30, header_bytes: 1 << 30, received: 1 << 30 }

/** Creates an account whose domain receives mail. */
export async function newReceiver(world: Foundation): Promise<TestAccount> {
  const account = await newAccount(world)
  await startReceiving(world, account.domain_id)
  return account
}

type Envelope = { mail_from?: string; received_for?: string[] }

/** Receives a raw message as from a client and parses it. Returns its id. */
export async function receive(
  work: Work,
  account: TestAccount,
  raw: string | Buffer,
  { mail_from = 'x@y.com', received_for = [`me@${account.domain}`] }: Envelope = {},
): Promise<string> {
  const id = await store(work, account, raw, { mail_from, received_for })
  await parse_email({ ids: [{ account_id: account.id, id }] }, work)
  return id
}

/** Stores a message without parsing it. */
export async function store(
  work: Pick<Work, 'pool' | 'blobs' | 'config' | 'log'>,
  { id: account_id, domain_id }: TestAccount,
  raw: string | Buffer,
  { mail_from, received_for }: Required<Envelope>,
): Promise<string> {
  const recipients = received_for.map(recipient => ({ account_id, domain_id, recipient }))
  const client = { address: '192.0.2.1', helo: 'mail.y.com', name: null, tls: null }
  await storeContent(work, { mail_from, recipients, client }, Buffer.from(raw))
  const { rows } = await work.pool.pg.query(
    'SELECT id FROM received_emails WHERE account_id = $1 ORDER BY id DESC LIMIT 1',
    [account_id],
  )
  return rows[0].id
}

/** Stores messages as if received, to be parsed later; returns their ids in the same order. */
export async function storeMessages(
  foundation: Foundation,
  account: TestAccount,
  raws: Buffer[],
): Promise<ReceivedEmailId[]> {
  const work = { ...foundation, blobs: createBlobs(foundation) }
  const envelope = { mail_from: 'ann@y.com', received_for: [`me@${account.domain}`] }
  const ids: ReceivedEmailId[] = []
  for (const raw of raws) ids.push({ account_id: account.id, id: await store(work, account, raw, envelope) })
  return ids
}

/** Stores one message like the SMTP listener. */
export async function storeContent(
  work: Pick<Work, 'pool' | 'blobs' | 'config' | 'log'>,
  envelope: Received,
  raw: Buffer,
): Promise<void> {
  await createReceiveEmail(work)(envelope, await readContent(Readable.from([raw]), LIMITS))
}

/** The stored form of a message, like everything received by SMTP: lines end in CRLF, including a last bare CR. */
export function asStored(raw: string | Buffer): Buffer {
  const ends = new LineEnds()
  return Buffer.concat([ends.push(Buffer.from(raw)), ends.end()])
}

const TRACE = /^Return-Path: <.*>\r\nReceived: from .+ \(\[.+\]\)\r\n\tby .+ with \w+\r\n\tid .+; .+ \+0000\r\n/

/** The stored bytes of a raw message as served: without our fields at the top. */
export function withoutTrace(served: Buffer): Buffer {
  const [trace] = TRACE.exec(served.toString('latin1')) ?? []
  if (!trace) throw new Error(`no trace fields in ${JSON.stringify(served.toString('latin1').slice(0, 200))}`)
  return served.subarray(trace.length)
}

/** A stored message without the Return-Path fields of its sender, which are not served. */
export function withoutReturnPath(stored: Buffer): Buffer {
  const text = stored.toString('latin1')
  const empty = `\r\n${text}`.indexOf('\r\n\r\n')
  const end = empty === -1 ? text.length : empty
  const header = text.slice(0, end).replace(/^Return-Path[ \t]*:.*\r\n(?:[ \t].*\r\n)*/gim, '')
  return Buffer.from(header + text.slice(end), 'latin1')
}

/** A raw message written by nodemailer. */
export async function compose(message: SendMailOptions): Promise<Buffer> {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: 'windows' })
  const { message: raw } = await transport.sendMail({ from: 'ann@y.com', to: 'me@acme.com', ...message })
  return raw as Buffer
}

import { createTransport, type SendMailOptions } from 'nodemailer'
import { createBlobs } from '../flows/blobs.ts'
import { receiveEmail } from '../flows/receive_email.ts'
import type { Foundation } from '../flows/run_process.ts'
import type { ReceivedEmailId } from '../sql/received_emails.ts'
import { parse_email } from '../tasks/parse_email.ts'
import type { Work } from '../tasks/task.ts'
import type { TestAccount } from './world.ts'

type Envelope = { mail_from?: string; received_for?: string[] }

/** Receives a raw message as a client would bring it, and reads it. Answers its id. */
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

/** As it lies there before it is read. */
export async function store(
  work: Pick<Work, 'pool' | 'blobs'>,
  { id: account_id, domain_id }: TestAccount,
  raw: string | Buffer,
  { mail_from, received_for }: Required<Envelope>,
): Promise<string> {
  const recipients = received_for.map(recipient => ({ account_id, domain_id, recipient }))
  const client = { address: '192.0.2.1', helo: 'mail.y.com', name: null, tls: null }
  await receiveEmail(work, { mail_from, recipients, client, raw: Buffer.from(raw) })
  const { rows } = await work.pool.pg.query(
    'SELECT id FROM received_emails WHERE account_id = $1 ORDER BY id DESC LIMIT 1',
    [account_id],
  )
  return rows[0].id
}

/** Stores messages as if they had come in, to be read later; answers their ids in the same order. */
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

/** A raw message as nodemailer writes it. */
export async function compose(message: SendMailOptions): Promise<Buffer> {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: 'windows' })
  const { message: raw } = await transport.sendMail({ from: 'ann@y.com', to: 'me@acme.com', ...message })
  return raw as Buffer
}

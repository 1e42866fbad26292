import { z } from 'zod'
import { parseAddress } from '../lib/address.ts'
import { coalesce } from '../lib/coalesce.ts'
import { composeAndSign } from '../lib/compose.ts'
import type { DkimKey } from '../lib/dkim.ts'
import type { Mailbox, Message } from '../lib/message.ts'
import type { Secrets } from '../lib/secrets.ts'
import type { EmailId } from '../sql/emails.ts'
import { type EmailToSend, listEmailsToSend } from '../sql/emails_to_send.ts'
import type { Pool } from '../sql/pool.ts'
import { createDkimKeys } from './dkim_keys.ts'

/** The message can never be sent as it is; what is wrong with it is the error's message. */
export class UnsendableError extends Error {}

/** Composing failed: out of memory, or a bug of ours. */
export class ComposeError extends Error {}

export type Prepared = { from_domain: string; message: Buffer }
export type PrepareMessage = (email: EmailId) => Promise<Prepared>

/** Loads, composes and signs. The same email gives the same bytes every time: its date and boundary are frozen. */
export function createPrepareMessage(pool: Pool, secrets: Secrets): PrepareMessage {
  const dkimKeyOf = createDkimKeys(pool, secrets)
  const load = coalesce<EmailId, EmailToSend>(ids => loadEach(pool, ids), {
    in_flight: 1,
    max_items: 100,
    interval_ms: 5,
  })

  return async id => {
    const email = await load(id)
    if (!email.sendable || !email.domain_id) throw new UnsendableError('The domain may no longer send.')
    const key = await dkimKeyOf(email.account_id, email.domain_id)
    return prepare(email, key)
  }
}

/** When what is stored of one email cannot be read, that one alone fails. */
async function loadEach(pool: Pool, ids: EmailId[]): Promise<(EmailToSend | Error)[]> {
  try {
    const emails = new Map((await listEmailsToSend(pool, ids)).map(email => [email.id, email]))
    return ids.map(({ account_id, id }) => {
      const email = emails.get(id)
      return email?.account_id === account_id ? email : new UnsendableError('The email no longer exists.')
    })
  } catch (cause) {
    if (!(cause instanceof z.ZodError)) throw cause
    if (ids.length === 1) return [new ComposeError('What is stored of it could not be read.', { cause })]
    return (await Promise.all(ids.map(id => loadEach(pool, [id])))).flat()
  }
}

async function prepare(email: EmailToSend, key: DkimKey): Promise<Prepared> {
  const from = mailbox(email.from)
  const message: Message = {
    message_id: email.message_id,
    date: email.submitted_at,
    from,
    to: email.to.map(mailbox),
    cc: email.cc.map(mailbox),
    reply_to: email.reply_to.map(mailbox),
    subject: email.subject,
    headers: email.headers,
    text: email.text,
    html: email.html,
    seed: email.id,
  }
  try {
    return { from_domain: domainOf(from.address), message: await composeAndSign(message, key) }
  } catch (cause) {
    throw new ComposeError(`It could not be composed: ${cause instanceof Error ? cause.message : cause}`, { cause })
  }
}

function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1)
}

function mailbox(text: string): Mailbox {
  const address = parseAddress(text)
  if (!address) throw new UnsendableError(`The stored address ${JSON.stringify(text)} is not valid.`)
  return { name: address.name, address: address.address }
}

import { ApiError } from '#lib/errors.ts'
import { type Address, formatAddress, parseAddress } from '#lib/mail/address.ts'
import { MAX_RECIPIENTS } from '#lib/mail/mail_fields.ts'
import { replyHeaders, replySubject } from '#lib/mail/threading.ts'
import { explainUnsendable } from '#lib/mail/wide_address.ts'
import type { NewReply } from '#lib/receiving/new_reply.ts'
import type { NewEmail } from '#lib/sending/new_email.ts'
import type { EmailToReplyTo } from '#sql/receiving/emails_to_answer.ts'

/** Makes the reply to a received email, to be accepted like any other. @throws {ApiError} if nobody can be replied to */
export function replyToEmail(original: EmailToReplyTo, reply: NewReply): NewEmail {
  const { reply_all, ...fields } = reply
  const others = reply_all ? othersOf(original, reply.from) : { to: [], cc: [] }
  const to = distinct([...sendersOf(original), ...others.to])
  const cc = distinct([...(reply.cc ?? []), ...others.cc], to)
  if (to.length > MAX_RECIPIENTS || cc.length > MAX_RECIPIENTS) {
    const message = `A reply to all would have more than ${MAX_RECIPIENTS} addresses in \`to\` or \`cc\`.`
    throw new ApiError('validation_error', message)
  }
  return {
    ...fields,
    ...{ to, cc },
    subject: reply.subject ?? replySubject(original.subject),
    headers: { ...reply.headers, ...replyHeaders(original) },
    poll: null,
  }
}

/**
 * Returns the valid addresses of Reply-To, else From (RFC 5322 3.6.2). If Reply-To has only mailboxes that we cannot send to,
 * the reply is refused: at From it might reach another person, or nobody.
 */
function sendersOf({ reply_to, from, from_name }: EmailToReplyTo): Address[] {
  const asked = parseAll(reply_to)
  if (asked.length > 0) return asked
  // A received name may contain characters that we do not allow.
  const sender = parseAddress(formatAddress({ name: from_name, address: from })) ?? parseAddress(from)
  const unsendable = [...reply_to, ...(sender ? [] : [from])].map(explainUnsendable).find(why => why !== null)
  if (unsendable) throw new ApiError('validation_error', `${unsendable}.`)
  if (!sender) throw new ApiError('validation_error', 'This email has no sender that can be replied to.')
  return [sender]
}

/** Returns the other recipients, without the addresses that received it here and the sender of the reply. */
function othersOf({ to, cc, received_for }: EmailToReplyTo, from: Address): { to: Address[]; cc: Address[] } {
  const own = [...parseAll(received_for), from]
  return { to: distinct(parseAll(to), own), cc: distinct(parseAll(cc), own) }
}

function parseAll(texts: string[]): Address[] {
  return texts.map(text => parseAddress(text)).filter(address => address !== null)
}

/** Returns each address once, without those of `except`, ignoring letter case. */
function distinct(addresses: Address[], except: Address[] = []): Address[] {
  const seen = new Set(except.map(nameOf))
  return addresses.filter(address => {
    const isNew = !seen.has(nameOf(address))
    seen.add(nameOf(address))
    return isNew
  })
}

function nameOf({ address }: Address): string {
  return address.toLowerCase()
}

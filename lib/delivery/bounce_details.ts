import { ATTACHMENT, CONTENT, FULL, NO_USER, TOO_LARGE, withoutAddresses } from './refusal_words.ts'
import { formatReply, parseReply, type Reply, type ReplyClass } from './smtp_reply.ts'

/**
 * A refusal as events show it. Permanent: the address accepts no mail at all. Transient: it may accept other
 * mail, or this one later. `diagnosticCode` as in a delivery status notification (RFC 3464 2.3.6).
 */
export type Bounce = {
  type: 'Permanent' | 'Transient' | 'Undetermined'
  subType:
    | 'General'
    | 'NoEmail'
    | 'MailboxFull'
    | 'MessageTooLarge'
    | 'ContentRejected'
    | 'AttachmentRejected'
    | 'Undetermined'
  message: string
  diagnosticCode: string[]
}

/** Statuses of addresses that do not exist, or no longer (RFC 3463 3.2, RFC 7505 4). */
const NO_SUCH = ['1.1', '1.2', '1.3', '1.6', '1.10']

/** Describes a refusal as events show it. */
export function describeBounce(response: string, reply_class: ReplyClass): Bounce {
  const { enhanced, text } = parseReply(response)
  const subType = subTypeOf({ enhanced, text: withoutAddresses(text) }, reply_class)
  const message = formatReply(response)
  return { type: typeOf(reply_class, subType), subType, message, diagnosticCode: message ? [`smtp; ${message}`] : [] }
}

function typeOf({ outcome }: ReplyClass, subType: Bounce['subType']): Bounce['type'] {
  if (outcome === 'bounced') return 'Permanent'
  return subType === 'Undetermined' ? 'Undetermined' : 'Transient'
}

function subTypeOf(
  { enhanced, text }: Pick<Reply, 'enhanced' | 'text'>,
  { class: cause }: ReplyClass,
): Bounce['subType'] {
  const detail = enhanced?.slice(2) ?? ''
  // 4.3.1 means that the server's disk is full, not the mailbox.
  const isFull = detail === '2.2' || (FULL.test(text) && detail !== '3.1')
  switch (cause) {
    case 'recipient':
      if (isFull) return 'MailboxFull'
      return NO_SUCH.includes(detail) || detail === '4.1' || NO_USER.test(text) ? 'NoEmail' : 'General'
    case 'size':
      return 'MessageTooLarge'
    case 'content':
    case 'policy':
      if (ATTACHMENT.test(text)) return 'AttachmentRejected'
      if (CONTENT.test(text) || detail.startsWith('6.')) return 'ContentRejected'
      return cause === 'policy' ? 'General' : 'Undetermined'
    case 'transient':
      if (isFull) return 'MailboxFull'
      return detail === '3.4' || TOO_LARGE.test(text) ? 'MessageTooLarge' : 'General'
    default:
      return 'General'
  }
}

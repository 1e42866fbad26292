import { getDomain } from 'tldts'
import { domainOf } from '#lib/mail/address.ts'
import type { ReportPart } from './mime_parts.ts'
import { findAddress, type ReportedRecipient } from './report.ts'
import { decodeField } from './report_text.ts'
import { ANY, ownReasons, reasonOf, SPEC } from './text_reason.ts'

/**
 * Parses a bounce in plain text: of qmail, old Exim and Exchange, Notes, and other programs with formats of their own. The caller
 * has checked that a program wrote the message. Returns an empty list if the text does not say that something failed, or for whom.
 * With `mayBeNameless`, a notice that does not say for whom gives one recipient without an address.
 */
export function readTextBounce(
  headers: Map<string, string>,
  parts: ReportPart[],
  mayBeNameless: boolean,
): ReportedRecipient[] {
  const whole = parts.find(part => part.type === 'text/plain')?.text ?? htmlText(parts)
  // Searching all of a long text for the returned message would take long.
  const notice = cutReturned(whole.slice(0, 10_000)).slice(0, 8_000)
  const subject = withoutReturned(decodeField(headers.get('subject') ?? ''))
  const opening = `${subject}\n${notice.slice(0, 2_000)}`
  if (!FAILED.test(opening) && !REPLY.test(notice) && !LATE.test(subject)) return []
  if (NOT_FAILED.test(subject) || (ARRIVED.test(opening) && !FAILED.test(notice))) return []
  const named = listAddresses(decodeField(headers.get('x-failed-recipients') ?? '').split(','))
  const [from, to] = ['from', 'to'].map(name => findAddress(headers.get(name) ?? '')) as [string | null, string | null]
  const addresses = named.length > 0 ? named : findRecipients(notice, from, to)
  const isDelayed = LATE.test(subject) || (DELAYED.test(notice) && !FINAL.test(notice))
  const action = isDelayed ? 'delayed' : 'failed'
  if (addresses.length === 0 && mayBeNameless) {
    return [{ address: null, original: null, action, status: null, diagnostic: reasonOf(notice, '') }]
  }
  const reasons = addresses.length > 1 ? ownReasons(notice, addresses) : new Map<string, string>()
  return addresses.map(address => {
    // A reason for one recipient says nothing about another.
    const diagnostic = reasons.get(address) ?? (reasons.size > 0 ? '' : reasonOf(notice, address))
    const status = /(?<![\d.])([45]\.\d{1,3}\.\d{1,3})(?![\d.])/.exec(diagnostic)?.[1] ?? null
    return { address, original: null, action, status, diagnostic }
  })
}

/** Returns a subject without that of the returned message, which many programs append: `Undeliverable: Our newsletter`. */
function withoutReturned(subject: string): string {
  const head = subject.split(':', 1)[0] as string
  return FAILED.test(head) ? head : subject
}

const MAX_RECIPIENTS = 50

function listAddresses(texts: string[]): string[] {
  const found = texts.slice(0, MAX_RECIPIENTS).flatMap(text => findAddress(text) ?? [])
  return [...new Set(found)]
}

const FAILED =
  /undeliver|(?:could|can|was|were|has|have|is)(?: ?not|n't) (?:be |been )?(?:able to )?(?:deliver|reach|sen[dt]|complet|process|accept|found|relay|rout)|unable to (?:deliver|send|relay|complete|route)|delivery (?:[\w() ]{0,30})?(?:fail|error|problem|was refused)|fail(?:ed|ure)[\w ]{0,30}(?:deliver|recipient|address|permanent)|returned (?:mail|to sender|message)|mail delivery fail|failure notice|did not reach|didn.t (?:get|reach)|not delivered|permanent (?:fatal )?error|non[- ]?delivery|rejected|no such user|unknown (?:user|address|recipient)|unzustellbar|nicht zugestellt|non remis|n'a pas pu être|non (?:è stato )?(?:possibile )?(?:recapitat|consegnat)|no se (?:ha )?pud|no (?:ha )?pud?o (?:ser )?(?:entrega|envia)|no entregad|kunde inte leverera|退信|无法(?:被)?(?:投递|送达|发送)|(?:投递|发送)失败|[配送]信できません|配達できません|was blocked|message (?:blocked|bounced)|bounced|gave up|error (?:has )?(?:occurred|delivering)|had delivery (?:errors|problems)|delivery problems|was aborted|не доставлен|не было доставлено/i

const REPLY = /(?:^|\s)(?:5\d\d|4\d\d)[ -][#(]?[45]\.\d+\.\d+/

const NOT_FAILED =
  /out of (?:the )?office|vacation|auto(?:matic)?[- ]?(?:reply|response|antwort)|abwesen|\bread:|\bgelesen\b|receipt|successful|delivered:|has been delivered|relayed|newsletter|summary|digest|statistics|weekly|report for|quarantine/i

const ARRIVED =
  /success(?:ful(?:ly)?)? (?:deliver|relay)|(?:was|has been|were) (?:successfully )?(?:delivered|received)|(?:delivery|relay) (?:receipt|confirm)/i

const LATE = /delay|warning: (?:message|could not send|mail)/i

const DELAYED =
  /delay|not yet been delivered|warning:|(?:will|shall) (?:be retried|(?:continue|keep)(?: to)? (?:try|be)|retry)|still trying|do(?:es)? not need to (?:resend|retry)|temporary (?:problem|fail|error)|temporarily|will be attempted/i

const FINAL =
  /permanent|gave up|error (?:has )?(?:occurred|delivering)|had delivery (?:errors|problems)|delivery problems|was aborted|giving up|given up|expired|retry time(?:out)? (?:exceeded|not reached)|no longer (?:be )?(?:tr|attempt)|will not be (?:retried|attempted)|could not be delivered|too long|undeliverable|failed/i

/** The beginning of the returned message, whose addresses are not those of the notice. */
const RETURNED =
  /^[ \t>]*-{2,}.{0,60}(?:below this line|copy of (?:the|your)|original (?:message|mail)|returned|message (?:headers?|follows|text)|headers?|forwarded|unsent|начало|ursprüngl).*$|^-{3,}[ \t]*\n+(?=[A-Za-z][\w-]*:[ \t])|^(?:Return-Path|Received|DKIM-Signature|MIME-Version|X-Originating-IP): ?.*$|^(?:the )?(?:original message|message headers?)(?: (?:follows?|was|headers))?:?[ \t]*$|^Original (?:message|headers).*:?[ \t]*$|^Your (?:original )?message (?:reads|follows).*$/im

function cutReturned(text: string): string {
  let from = 0
  // A line of dashes at the very top is decoration.
  for (let tries = 0; tries < 4; tries++) {
    const found = RETURNED.exec(text.slice(from))
    if (!found) return text
    const at = from + found.index
    if (findAddress(text.slice(0, at).slice(-2000)) || at > 1_500) return text.slice(0, at)
    from = at + found[0].length
  }
  return text
}

/**
 * Returns all recipients at the beginnings of lines or in the transcript of a session; else the first one after a word for a
 * recipient; else the first address that is not the notice's own. An address such as support@ may be a contact or the recipient:
 * it counts as the recipient in a list of recipients, unless it belongs to the reporting server and another recipient is named.
 */
function findRecipients(notice: string, from: string | null, to: string | null): string[] {
  const site = siteOf(from ?? '')
  const find = (pattern: RegExp, isRecipient: (address: string) => boolean): string[] =>
    listAddresses(Array.from(notice.matchAll(pattern), ([, address = '']) => address)).filter(
      address => address !== from && address !== to && !OF_PROGRAMS.test(address) && isRecipient(address),
    )
  const attempts = [
    ...LISTED.map(pattern => find(pattern, address => !ROLE.test(address) || siteOf(address) !== site)),
    ...[LABELLED, ANY].map(pattern => find(pattern, address => !ROLE.test(address)).slice(0, 1)),
    ...LISTED.map(pattern => find(pattern, () => true)),
    find(LABELLED, () => true).slice(0, 1),
  ]
  return attempts.find(addresses => addresses.length > 0) ?? []
}

/** Addresses that a notice may name as a contact, but that people also write to. */
const ROLE = /^(?:postmaster|support|abuse|help)@/
const OF_PROGRAMS = /^(?:mailer-daemon|b-[a-z2-7]{42})@/

function siteOf(address: string): string {
  const domain = domainOf(address)
  return getDomain(domain) ?? domain
}

const ALONE = new RegExp(
  String.raw`^[ \t*>-]*[<"]?(?:mailto:|smtp:|rfc822;)?(${SPEC})[>"]?[ \t]*(?::|$|\(|\[|\.\.\.)`,
  'gim',
)
/** sendmail: `550 <ann@x.com>... User unknown`. */
const IN_TRANSCRIPT = new RegExp(String.raw`^[45]\d\d[ -](?:[45]\.\d\.\d )?<(${SPEC})>\.\.\.`, 'gim')
/** Exchange and Zoho: `ann@x.com on Thu, 29 Apr 2007`, `ann@x.com Invalid Address`. */
const AT_START = new RegExp(String.raw`^[ \t]*(${SPEC})[ \t]+(?:on \w{3},|[A-Z][a-z]+ )`, 'gm')
const LABELLED = new RegExp(
  String.raw`(?:recipients?|user|addressee|address|to|mailbox|for|deliver(?:ed|y)?|reach|rcpt to)\b[^\n@]{0,60}?[\s:<"'(\[](${SPEC})`,
  'gi',
)
/** Places where a notice lists its recipients. */
const LISTED = [ALONE, IN_TRANSCRIPT, AT_START]

/** Returns the text of HTML, for the few notices without plain text. */
function htmlText(parts: ReportPart[]): string {
  const html = parts.find(part => part.type === 'text/html')?.text ?? ''
  return html
    .slice(0, 100_000)
    .replace(/<(?:style|script)\b[^<>]{0,500}>[^<]*<\/(?:style|script)>/gi, '')
    .replace(/<(?:br|\/?p|\/?div|\/?tr|\/?td|\/?li|\/?h\d)\b[^<>]{0,500}>/gi, '\n')
    .replace(/<[^<>]{0,2000}>/g, '')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&nbsp;/g, ' ')
    .replace(/&amp;/g, '&')
}

import { saysWhy } from '../refusals/rules.ts'
import { withoutAddresses } from '../reply_words.ts'
import type { Part } from './parts.ts'
import { findAddress, type ReportedRecipient } from './report.ts'

/**
 * Reads a bounce that is words alone: qmail, old Exim and Exchange, Notes, and whatever else writes as it likes. For
 * messages that no person has written. Null when it does not say that something failed, or not for whom.
 */
export function readTextBounce(headers: Map<string, string>, parts: Part[]): ReportedRecipient | null {
  const whole = parts.find(part => part.type === 'text/plain')?.text ?? htmlText(parts)
  const notice = cutReturned(whole).slice(0, 8_000)
  const subject = headers.get('subject') ?? ''
  const opening = `${subject}\n${notice.slice(0, 2_000)}`
  if (!FAILED.test(opening) && !REPLY.test(notice) && !LATE.test(subject)) return null
  if (NOT_FAILED.test(subject) || (ARRIVED.test(opening) && !FAILED.test(notice))) return null
  const named = headers.get('x-failed-recipients')
  const own = new Set([findAddress(headers.get('from') ?? ''), findAddress(headers.get('to') ?? '')])
  const address = named ? findAddress(named) : findRecipient(notice, own)
  if (!address) return null
  const isDelayed = LATE.test(subject) || (DELAYED.test(notice) && !FINAL.test(notice))
  const diagnostic = reasonOf(notice, address)
  const status = /(?<![\d.])([45]\.\d{1,3}\.\d{1,3})(?![\d.])/.exec(diagnostic)?.[1] ?? null
  return { address, original: null, action: isDelayed ? 'delayed' : 'failed', status, diagnostic }
}

const FAILED =
  /undeliver|(?:could|can|was|were|has|have|is)(?: ?not|n't) (?:be |been )?(?:able to )?(?:deliver|reach|sen[dt]|complet|process|accept|found|relay|rout)|unable to (?:deliver|send|relay|complete|route)|delivery (?:[\w() ]{0,30})?(?:fail|error|problem|was refused)|fail(?:ed|ure)[\w ]{0,30}(?:deliver|recipient|address|permanent)|returned (?:mail|to sender|message)|mail delivery fail|failure notice|did not reach|didn.t (?:get|reach)|not delivered|permanent (?:fatal )?error|non[- ]?delivery|rejected|no such user|unknown (?:user|address|recipient)|unzustellbar|nicht zugestellt|non remis|n'a pas pu être|non (?:è stato )?(?:possibile )?(?:recapitat|consegnat)|no se (?:ha )?pud|no (?:ha )?pud?o (?:ser )?(?:entrega|envia)|no entregad|kunde inte leverera|退信|无法(?:投递|送达|发送)|配信できません|was blocked|message (?:blocked|bounced)|bounced|gave up|не доставлен|не было доставлено/i

const REPLY = /(?:^|\s)(?:5\d\d|4\d\d)[ -][#(]?[45]\.\d+\.\d+/

const NOT_FAILED =
  /out of (?:the )?office|vacation|auto(?:matic)?[- ]?(?:reply|response|antwort)|abwesen|\bread:|\bgelesen\b|receipt|successful|delivered:|has been delivered|relayed|newsletter|summary|digest|statistics|weekly|report for|quarantine/i

const ARRIVED =
  /success(?:ful(?:ly)?)? (?:deliver|relay)|(?:was|has been|were) (?:successfully )?(?:delivered|received)|(?:delivery|relay) (?:receipt|confirm)/i

const LATE = /delay|warning: (?:message|could not send|mail)/i

const DELAYED =
  /delay|not yet been delivered|warning:|(?:will|shall) (?:be retried|(?:continue|keep)(?: to)? (?:try|be)|retry)|still trying|do(?:es)? not need to (?:resend|retry)|temporary (?:problem|fail|error)|temporarily|will be attempted/i

const FINAL =
  /permanent|gave up|giving up|given up|expired|retry time(?:out)? (?:exceeded|not reached)|no longer (?:be )?(?:tr|attempt)|will not be (?:retried|attempted)|could not be delivered|too long|undeliverable|failed/i

/** What was returned begins: its addresses are not whom the notice is about. */
const RETURNED =
  /^[ \t>]*-{2,}.{0,60}(?:below this line|copy of (?:the|your)|original (?:message|mail)|returned|message (?:headers?|follows|text)|headers?|forwarded|unsent|начало|ursprüngl).*$|^-{3,}[ \t]*$|^(?:Return-Path|Received|DKIM-Signature|MIME-Version|X-Originating-IP): .*$|^(?:the )?(?:original message|message headers?)(?: (?:follows?|was|headers))?:?[ \t]*$|^Original (?:message|headers).*:?[ \t]*$|^Your (?:original )?message (?:reads|follows).*$/im

function cutReturned(text: string): string {
  let from = 0
  // A rule of dashes at the very top is an ornament.
  for (let tries = 0; tries < 4; tries++) {
    const found = RETURNED.exec(text.slice(from))
    if (!found) return text
    const at = from + found.index
    if (findAddress(text.slice(0, at).slice(-2000)) || at > 1_500) return text.slice(0, at)
    from = at + found[0].length
  }
  return text
}

/** Written in angle brackets, alone on a line, or behind a word for it; else the first that is not the notice's own. */
function findRecipient(notice: string, own: Set<string | null>): string | null {
  const isOther = (address: string | null): address is string =>
    address !== null &&
    !own.has(address) &&
    !/^(?:mailer-daemon|postmaster|support|abuse|help|b-[a-z2-7]{42})@/.test(address)
  for (const pattern of [ALONE, LABELLED, ANY]) {
    for (const [, found = ''] of notice.matchAll(pattern)) {
      const address = findAddress(found)
      if (isOther(address)) return address
    }
  }
  return null
}

const SPEC = String.raw`[^\s<>"'(),;:\[\]\\]{1,64}@[\w.-]{1,255}`
const ALONE = new RegExp(String.raw`^[ \t*>-]*<?(?:mailto:|smtp:|rfc822;)?(${SPEC})>?[ \t]*(?::|$|\(|\.\.\.)`, 'gim')
const LABELLED = new RegExp(
  String.raw`(?:recipients?|user|addressee|address|to|mailbox|for|deliver(?:ed|y)?|reach|rcpt to)\b[^\n@]{0,60}?[\s:<"'(\[](${SPEC})`,
  'gi',
)
const ANY = new RegExp(`(${SPEC})`, 'g')

/** From the words after the recipient, or those of the whole notice: a reply of a server, if there is one. */
function reasonOf(notice: string, address: string): string {
  const at = notice.toLowerCase().indexOf(address)
  const after = at === -1 ? notice : notice.slice(at + address.length)
  const line = (text: string) => text.replace(/\s+/g, ' ').trim()
  const reply = REPLIED.exec(after)?.[0] ?? REPLIED.exec(notice)?.[0]
  if (reply) return line(reply).slice(0, 1000)
  const words = line(after.replace(/^[>:\s)]+/, '')).slice(0, 600)
  const whole = line(notice).slice(0, 600)
  const isReason = (text: string) => saysWhy(withoutAddresses(text))
  return isReason(words) || (!isReason(whole) && words.length > 15) ? words : whole
}

/** A reply goes on until an empty line. */
const REPLIED = /(?<![\d.:/])[45]\d\d[ -](?:[#(]?[45]\.\d+\.\d+|[A-Za-z<"'[])(?:[^\n]|\n(?!\s*\n)){0,900}/

/** HTML alone, as few write it. */
function htmlText(parts: Part[]): string {
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

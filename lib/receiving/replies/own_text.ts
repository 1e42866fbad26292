import { readTokens } from '#lib/contents/html_tokens.ts'

/** Maximum characters of text that are searched: people who are interested say so at the beginning. */
const MAX_TEXT = 20_000
/** Maximum characters of HTML, most of which are tags. */
const MAX_HTML = 5 * MAX_TEXT
/** Longest line that can begin a quote. */
const MAX_LINE = 400

export type ReplyBody = { text: string | null; html: string | null }

/** Returns the beginning of a reply, as much as `ownText` reads. */
export function clipReply({ text, html }: ReplyBody): ReplyBody {
  return { text: text?.slice(0, MAX_TEXT) ?? null, html: html?.slice(0, MAX_HTML) ?? null }
}

/**
 * Returns the text that was written in a reply itself, without quotes, the signature and footers of phones. `html` is used if
 * there is no text. Linear in the length of the reply, of which only the beginning is read (`clipReply`).
 */
export function ownText(reply: ReplyBody): string {
  const { text, html } = clipReply(reply)
  const whole = (text?.trim() ? text : plain(html ?? '')).slice(0, MAX_TEXT).replace(/\r\n?/g, '\n')
  const lines: string[] = []
  const all = whole.split('\n')
  for (const [n, line] of all.entries()) {
    // Stops at a signature (RFC 3676 4.3), or a line that mail clients write before a quote.
    if (/^-- ?$/.test(line) || isQuoteBegin(line.trim(), all[n + 1]?.trim() ?? '')) break
    if (/^\s*>/.test(line) || SENT_FROM.test(line)) continue
    lines.push(line)
  }
  return lines.join('\n').trim()
}

const SENT_FROM =
  /^\s*(?:sent from my|sent from (?:outlook|mail)|get outlook for|von meinem .{0,30} gesendet|gesendet von|skickat från|envoyé de(?:puis)? mon|enviado desde)/i

// These expect lines without spaces around them: an optional run of spaces would make a pattern quadratic.
const DIVIDER =
  /^(?:-{2,}\s*(?:original message|original(?:nachricht|meddelande)|ursprüngliche nachricht|ursprungligt meddelande|ursprungligt mejl|message d['’]origine|mensaje original|forwarded message).*|_{10,}\s*|\*?(?:from|von|från|de)\*?\s?:\s.*@.*)$/i

/** The header that Outlook writes, which has no address for people in the address book, or has it on the next line. */
const FROM = /^\*?(?:from|von|från|de)\*?\s?:/i
const AFTER_FROM = /^(?:<[^\s<>]+@|\*?(?:sent|date|gesendet|datum|skickat|envoyé|enviado(?: el)?|fecha)\*?\s?:)/i

const WROTE = /(?:wrote|schrieb|folgendes geschrieben|skrev|a écrit|escribió)(?!\p{L}).{0,80}:?$/iu
const BEGINS = /^>?\s*(?:-+\s)?(?:on|am|den|le|el|op|\d{4}-\d\d-\d\d|\d{1,2}[./ ])/i
const CLOCK = /(?<!\d)\d{1,2}[:.]\d\d(?!\d)/

/** Tells whether a quote begins at the first of two lines, which have no spaces around them. */
function isQuoteBegin(line: string, next: string): boolean {
  if (DIVIDER.test(line) || (FROM.test(line) && AFTER_FROM.test(next))) return true
  if (line.length > MAX_LINE) return false
  const both = `${line} ${next}`.slice(0, MAX_LINE).trimEnd()
  if (BEGINS.test(line) && (WROTE.test(line) || (WROTE.test(both) && /[@<\d]/.test(line)))) return true
  if (CLOCK.test(line) && [line, both].some(text => text.endsWith(':') && text.includes('@'))) return true
  return /^.{0,120}(?:schrieb am|skrev den).{0,80}:$/i.test(line)
}

function plain(html: string): string {
  const bare = html
    .replace(/<(?:blockquote|div[^<>]{0,200}class="?[^<>"]{0,50}gmail_quote)[\s\S]*$/i, '')
    .replace(/<(style|script|head)\b[^<>]{0,500}>[^<]*<\/\1>/gi, '')
    .replace(/<(?:br|\/?p|\/?div|\/?tr|\/?li)\b[^<>]{0,500}>/gi, '\n')
    .replace(/<[^<>]{0,2000}>/g, '')
  return decodeEntities(bare).replaceAll('\u00a0', ' ').replaceAll('’', "'")
}

function decodeEntities(text: string): string {
  const pieces: string[] = []
  readTokens(text.replaceAll('<', '&lt;'), { open: () => {}, close: () => {}, text: piece => pieces.push(piece) })
  return pieces.join('')
}

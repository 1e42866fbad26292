/** Nobody reads further to see whether somebody is interested: who is says so at once. */
const MAX_TEXT = 20_000
/** Characters of HTML, most of which are tags. */
const MAX_HTML = 5 * MAX_TEXT
/** A line that begins a quote is shorter. */
const MAX_LINE = 400

export type ReplyBody = { text: string | null; html: string | null }

/** The beginning of a reply, as much as `ownText` looks at. */
export function clipReply({ text, html }: ReplyBody): ReplyBody {
  return { text: text?.slice(0, MAX_TEXT) ?? null, html: html?.slice(0, MAX_HTML) ?? null }
}

/**
 * Returns what was written in a reply itself: without what it quotes, the signature, and what a telephone adds. `html`
 * counts where there is no text. Linear in the length of the reply, of which it reads the beginning (`clipReply`).
 */
export function ownText(reply: ReplyBody): string {
  const { text, html } = clipReply(reply)
  const whole = (text?.trim() ? text : plain(html ?? '')).slice(0, MAX_TEXT).replace(/\r\n?/g, '\n')
  const lines: string[] = []
  const all = whole.split('\n')
  for (const [n, line] of all.entries()) {
    // Signatures (RFC 3676 4.3), and the lines before what is quoted as mail programs write them.
    if (/^-- ?$/.test(line) || isQuoteBegin(line.trim(), all[n + 1]?.trim() ?? '')) break
    if (/^\s*>/.test(line) || SENT_FROM.test(line)) continue
    lines.push(line)
  }
  return lines.join('\n').trim()
}

const SENT_FROM =
  /^\s*(?:sent from my|sent from (?:outlook|mail)|get outlook for|von meinem .{0,30} gesendet|gesendet von|skickat från|envoyé de(?:puis)? mon|enviado desde)/i

// These are for lines without blanks around them: a pattern of blanks that may be empty takes quadratic time.
const DIVIDER =
  /^(?:-{2,}\s*(?:original message|ursprüngliche nachricht|ursprungligt meddelande|ursprungligt mejl|message d'origine|mensaje original|forwarded message).*|_{10,}\s*|\*?(?:from|von|från|de)\*?\s?:\s.*@.*)$/i

const WROTE = /(?:wrote|schrieb|skrev|a écrit|escribió)(?!\p{L}).{0,80}:?$/iu
const BEGINS = /^>?\s*(?:on|am|den|le|el|op|\d{4}-\d\d-\d\d|\d{1,2}[./ ])/i

/** Whether a quote begins at the first of two lines, which have no blanks around them. */
function isQuoteBegin(line: string, next: string): boolean {
  if (DIVIDER.test(line)) return true
  if (line.length > MAX_LINE) return false
  const both = `${line} ${next}`.slice(0, MAX_LINE).trimEnd()
  if (BEGINS.test(line) && (WROTE.test(line) || (WROTE.test(both) && /[@<\d]/.test(line)))) return true
  return /^.{0,120}(?:schrieb am|skrev den).{0,80}:$/i.test(line)
}

function plain(html: string): string {
  return html
    .replace(/<(?:blockquote|div[^<>]{0,200}class="?[^<>"]{0,50}gmail_quote)[\s\S]*$/i, '')
    .replace(/<(style|script|head)\b[^<>]{0,500}>[^<]*<\/\1>/gi, '')
    .replace(/<(?:br|\/?p|\/?div|\/?tr|\/?li)\b[^<>]{0,500}>/gi, '\n')
    .replace(/<[^<>]{0,2000}>/g, '')
    .replace(/&nbsp;|&#160;/g, ' ')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&#39;|&rsquo;|&apos;/g, "'")
    .replace(/&quot;/g, '"')
    .replace(/&amp;/g, '&')
}

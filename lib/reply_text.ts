/** Of a reply more is not read: who is interested says so at once. */
const MAX_CHARACTERS = 20_000

/**
 * What was written in a reply itself: without what it quotes, the signature, and what a telephone adds. `html` counts when
 * there is no text.
 */
export function ownText({ text, html }: { text: string | null; html: string | null }): string {
  const whole = (text?.trim() ? text : plain(html ?? '')).slice(0, MAX_CHARACTERS).replace(/\r\n?/g, '\n')
  const lines: string[] = []
  const all = whole.split('\n')
  for (const [n, line] of all.entries()) {
    // Signatures (RFC 3676 4.3), and the lines before what is quoted as mail programs write them.
    if (/^-- ?$/.test(line) || isQuoteBegin(line, all[n + 1] ?? '')) break
    if (/^\s*>/.test(line) || SENT_FROM.test(line)) continue
    lines.push(line)
  }
  return lines.join('\n').trim()
}

const SENT_FROM =
  /^\s*(?:sent from my|sent from (?:outlook|mail)|get outlook for|von meinem .{0,30} gesendet|gesendet von|skickat från|envoyé de(?:puis)? mon|enviado desde)/i

const DIVIDER =
  /^\s*(?:-{2,}\s*(?:original message|ursprüngliche nachricht|ursprungligt meddelande|ursprungligt mejl|message d'origine|mensaje original|forwarded message).*|_{10,}\s*|\*?(?:from|von|från|de)\*?\s?:\s.*@.*)$/i

const WROTE = /(?:wrote|schrieb|skrev|a écrit|escribió)(?!\p{L}).{0,80}:?\s*$/iu
const BEGINS = /^\s*>?\s*(?:on|am|den|le|el|op|\d{4}-\d\d-\d\d|\d{1,2}[./ ])/i

function isQuoteBegin(line: string, next: string): boolean {
  if (DIVIDER.test(line)) return true
  const both = `${line} ${next}`.slice(0, 400)
  if (BEGINS.test(line) && (WROTE.test(line.slice(0, 400)) || (WROTE.test(both) && /[@<\d]/.test(line)))) return true
  return /^.{0,120}(?:schrieb am|skrev den).{0,80}:\s*$/i.test(line)
}

function plain(html: string): string {
  return html
    .slice(0, 5 * MAX_CHARACTERS)
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

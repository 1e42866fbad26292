import { Parser } from 'htmlparser2'
import { compileContent, fillContent } from '#lib/contents/compile_content.ts'
import { SharedLinks, writeTracking } from '#lib/contents/write_tracking.ts'
import { newId } from '#lib/ids.ts'
import { TokenKeys } from '#lib/token_keys.ts'
import { writeLinkToken, writeRecipientTokens } from '#lib/tracking/tracking_tokens.ts'
import { median, report } from '#test/bench/support/stage.ts'

const GOAL = 10
const ROUNDS = 9
const ROUND_MS = 300
const LINKS = 20
const ORIGIN = 'https://track.acme.com'

const keys = new TokenKeys([{ kid: 1, key: Buffer.alloc(32, 1) }])
const source_id = newId()
const account_id = newId()
const values = { first_name: 'Ann & Bob', plan: 'pro' }
const personal = { unsubscribe_url: 'https://mail.acme.com/u/x' }

/** A newsletter of about 18 KB with 20 links and two variables. */
function newsletter(): string {
  const cell = 'style="padding:12px 24px;font-family:Arial,sans-serif;font-size:14px;line-height:1.5;color:#333333"'
  const rows = Array.from({ length: LINKS }, (_, n) => {
    const link = `<a href="https://shop.acme.com/item/${n}?from=mail&amp;n=${n}" style="color:#0055aa">Read more</a>`
    return `<tr><td ${cell}><h2>Item ${n} for {{first_name}}</h2><p>${'Some words about it. '.repeat(32)}</p>${link}</td></tr>`
  })
  return `<!doctype html><html><head><title>News</title></head><body><table>${rows.join('\n')}</table></body></html>`
}

/** Renders for one recipient like the worker: with prepared parts, presigned links, and one HMAC. */
function compiledRendering(html: string): () => string {
  const filling = { has_values: true, is_personal: true, tracking: { opens: true, clicks: true } }
  const content = compileContent({ html, text: '' }, filling)
  const shared = new SharedLinks()
  return () => {
    const recipient = { account_id, delivery_id: newId() }
    const filled = fillContent(content, values, personal)
    const tokens = writeRecipientTokens(recipient, keys)
    return writeTracking(filled.html ?? [], { origin: ORIGIN, keys, source_id, tokens }, shared)
  }
}

/** Renders for one recipient in the usual way: parsed by htmlparser2, with one HMAC per link. */
function parsedRendering(html: string): () => string {
  return () => {
    const recipient = { account_id, delivery_id: newId() }
    const { open, click } = writeRecipientTokens(recipient, keys)
    const filled = html.replace(/\{\{(\w+)\}\}/g, (_, key) => values[key as keyof typeof values])
    const places: { start: number; end: number; url: string }[] = []
    const parser = new Parser({
      onopentag: (name, { href }) => {
        if (name === 'a' && href) places.push({ start: parser.startIndex, end: parser.endIndex + 1, url: href })
      },
    })
    parser.end(filled)
    let written = ''
    let end = 0
    for (const [link, { start, end: next, url }] of places.entries()) {
      const tag = filled.slice(start, next)
      const token = writeLinkToken({ source_id, link, url }, keys)
      written += filled.slice(end, start) + tag.replace(/href="[^"]*"/, `href="${ORIGIN}/t/c/${token}/${click}"`)
      end = next
    }
    return (written + filled.slice(end)).replace('</body>', `<img src="${ORIGIN}/t/o/${open}.gif"></body>`)
  }
}

/** Renderings per second of each, measured in turn; the ratio is the median of the rounds. */
export async function benchRendering(): Promise<void> {
  const html = newsletter()
  const compiled = compiledRendering(html)
  const parsed = parsedRendering(html)
  const links = (text: string) => text.match(/\/t\/c\//g)?.length
  if (links(compiled()) !== LINKS || links(parsed()) !== LINKS) throw new Error('they do not render the same links')
  const rounds = Array.from({ length: ROUNDS + 1 }, () => ({
    compiled: rateOf(compiled),
    parsed: rateOf(parsed),
  })).slice(1)
  const ratio = median(rounds.map(round => round.compiled / round.parsed))
  const rates = [median(rounds.map(round => round.compiled)), median(rounds.map(round => round.parsed))].map(Math.round)
  console.log(`html of ${html.length} characters, ${LINKS} links: ${rates.join(' and ')} per second`)
  report('compiled, compared with parsed', `${ratio.toFixed(1)}x`, `>= ${GOAL}x`, ratio >= GOAL)
}

function rateOf(render: () => string): number {
  const begin = performance.now()
  let count = 0
  let length = 0
  for (; performance.now() - begin < ROUND_MS; count++) length += Buffer.byteLength(render())
  if (length === 0) throw new Error('nothing was rendered')
  return (count / (performance.now() - begin)) * 1_000
}

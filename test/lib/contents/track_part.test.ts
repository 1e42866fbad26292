import fc from 'fast-check'
import { DomUtils, parseDocument } from 'htmlparser2'
import t, { type Test } from 'tap'
import { compileContent, fillContent, renderCompiled, type Values } from '#lib/contents/compile_content.ts'
import type { FilledLink } from '#lib/contents/content_parts.ts'
import { MAX_TRACKED_LINKS } from '#lib/contents/track_part.ts'
import { SharedLinks, sizeOfTracking, writeTracking } from '#lib/contents/write_tracking.ts'
import { newId } from '#lib/ids.ts'
import { TokenKeys } from '#lib/token_keys.ts'
import { parseLinkToken, parseRecipientToken, writeRecipientTokens } from '#lib/tracking/tracking_tokens.ts'
import { naughtyStrings } from '#test/support/naughty_strings.ts'

const ORIGIN = 'https://track.acme.com'
const keys = new TokenKeys([{ kid: 1, key: Buffer.alloc(32, 1) }])
const recipient = { account_id: newId(), delivery_id: newId() }
const by = { origin: ORIGIN, keys, source_id: newId(), tokens: writeRecipientTokens(recipient, keys) }
const BOTH = { opens: true, clicks: true }
const LINKS = { unsubscribe_url: 'https://a.b/u/x' }
const LINK = /https:\/\/track\.acme\.com\/t\/c\/([\w-]+)\/([\w-]+)/g
const PIXEL =
  /<img src="https:\/\/track\.acme\.com\/t\/o\/([\w-]+)\.gif" alt="" width="1" height="1" style="width:1px;height:1px;border:0">/

function track(html: string, { values = null, tracking = BOTH }: { values?: Values; tracking?: typeof BOTH } = {}) {
  const content = compileContent({ html, text: '' }, { has_values: values !== null, is_personal: true, tracking })
  const pieces = fillContent(content, values, LINKS).html ?? []
  const links = pieces.filter((piece): piece is FilledLink => typeof piece !== 'string' && 'link' in piece)
  const tracked = writeTracking(pieces, by, new SharedLinks())
  const urls = [...tracked.matchAll(LINK)].map(([, token]) => parseLinkToken(String(token), keys))
  let next = 0
  const restored = tracked.replace(PIXEL, '').replace(LINK, () => (links[next++] as FilledLink).written)
  const untracked = compileContent({ html, text: '' }, { has_values: values !== null, is_personal: true })
  return { tracked, urls, restored, plain: renderCompiled(untracked, values, LINKS).html }
}

const urlsOf = (html: string, values: Values = null) => track(html, { values }).urls.map(found => found?.url)

const part = fc.constantFrom(
  '<p>',
  '</p>',
  '</body>',
  '</BODY >',
  '<!-- <a href="https://c.d"> -->',
  '<!--[if mso]><a href="https://c.d"><![endif]-->',
  '<style>a{}</style>',
  '<script>"<a href=https://s.t>"</script>',
  '<title><a href="https://t.u"></title>',
  '<a href="https://x.y/?a=1&amp;b=&#50;&copy">',
  "<A HREF = 'http://x.y/?q={{a}}&amp;r={{{b}}}'>",
  '<a class="x" href=https://x.y/z>',
  '<a href=https://x.y/z/>',
  '<a href="https://x.y/{{a|"q>"}}">',
  '<area href="https://ar.ea/">',
  '<a data-track=off href="https://x.y">',
  '<a href="https://one.x" href="https://two.x">',
  '<a href href="https://two.x">',
  '<a href="{{a}}">',
  '<a href="https://{{a}}.x/">',
  '<a href="mailto:a@b.c">',
  '<link href="https://c.s/s">',
  '</a>',
  '{{a}} {{{b}}} {{c|d}}',
  '{{unsubscribe_url}}',
  '<a href="{{{UNSUBSCRIBE_URL}}}">',
  '<img src="x" alt="1 > 0">',
  '<a href="https://x.y',
  'word',
)
const hostile = fc.constantFrom(...naughtyStrings)
const sources = fc
  .array(fc.oneof({ weight: 4, arbitrary: part }, hostile), { maxLength: 25 })
  .map(list => list.join(''))
const value = fc.oneof(fc.stringMatching(/^[a-z&<>"'é ]{0,8}$/), hostile)

t.test('tracking only changes links and adds the pixel, byte for byte', async t => {
  fc.assert(
    fc.property(sources, html => {
      const filling = { has_values: false, is_personal: false }
      t.equal(renderCompiled(compileContent({ html, text: '' }, filling), null).html, html)
      const { tracked, restored, plain } = track(html)
      t.equal(restored, plain)
      t.equal(tracked.match(new RegExp(PIXEL, 'g'))?.length ?? 0, /\S/.test(html) ? 1 : 0)
    }),
    { numRuns: 500 },
  )
})

t.test('rendered html with tracking differs only in links and the pixel', async t => {
  const values = fc.record({ a: value, b: value, c: value })
  fc.assert(
    fc.property(sources, values, (html, values) => {
      const { restored, plain } = track(html, { values })
      t.equal(restored, plain)
    }),
    { numRuns: 500 },
  )
})

/**
 * The links that a parser finds in html, in order, without the characters that browsers ignore (WHATWG URL 4.4). Braces in
 * a host are placeholders of somebody else.
 */
function linksIn(html: string): string[] {
  const elements = DomUtils.getElementsByTagName(name => name === 'a' || name === 'area', parseDocument(html))
  return elements.flatMap(({ attribs: { href = '', ...others } }) =>
    /^https?:\/\/[^/?#\\{}]+([/?#\\]|$)/.test(href) && URL.canParse(href) && others['data-track'] !== 'off'
      ? [href.replace(/[\t\n\r]|[\0- ]+$/g, '')]
      : [],
  )
}

t.test('the tracked links are those that a parser finds', async t => {
  const plain = sources.filter(html => !html.includes('{{'))
  fc.assert(
    fc.property(plain, html => t.strictSame({ html, urls: urlsOf(html) }, { html, urls: linksIn(html) })),
    { numRuns: 500 },
  )
})

t.test('web links are tracked in order, each with its recipient', async t => {
  const html = '<a href="https://a.b/?x=1&amp;y=2">1</a><area href=http://c.d><A\nHREF = \' https://e.f/\n#g \'>2</a>'
  const { tracked, urls } = track(html)
  t.strictSame(
    urls.map(link => [link?.link, link?.url, link?.source_id]),
    [
      [0, 'https://a.b/?x=1&y=2', by.source_id],
      [1, 'http://c.d', by.source_id],
      [2, 'https://e.f/#g', by.source_id],
    ],
  )
  for (const [, , token] of tracked.matchAll(LINK)) {
    t.strictSame(parseRecipientToken(String(token), 'click', keys), recipient)
  }
  t.strictSame(parseRecipientToken(String(PIXEL.exec(tracked)?.[1]), 'open', keys), recipient)
})

const UNTRACKED = {
  'mail, phone and places of the page': '<a href="mailto:a@b.c"><a href="tel:1"><a href="#x"><a href="/x"><a href="">',
  'other schemes': '<a href="javascript:x()"><a href="ftp://a.b"><a href="data:text/html,x">',
  'one that asks for it': '<a href="https://a.b" data-track="off"><a DATA-TRACK=Off href="https://a.b">',
  'our own pages': '<a href="{{unsubscribe_url}}"><a href="{{{RESEND_UNSUBSCRIBE_URL}}}">',
  'what is no URL': '<a href="https://"><a href="https://a b/"><a href="http:x">',
  'other elements': '<link href="https://a.b"><base href="https://a.b"><img src="https://a.b">',
  'comments and scripts': '<!-- <a href="https://a.b"> --><script><a href="https://a.b"></script>',
  'a URL that is too long': `<a href="https://a.b/${'x'.repeat(2_000)}">`,
  'a URL with braces in its host': '<a href="https://{{host}}/"><a href="https://a.{{b}}">',
}
for (const [name, html] of Object.entries(UNTRACKED)) {
  t.test(`a link is not tracked: ${name}`, async t => t.strictSame(urlsOf(html), []))
}

t.test('a link with values leads to the rendered URL, with a fixed scheme and host', async t => {
  const values = { a: 'x y&z', b: 'p/q?r', c: '"><b>', host: 'evil.com', u: 'https://evil.com' }
  const of = (href: string) => urlsOf(`<a href="${href}">`, values)[0]
  t.equal(of('https://a.b/?q={{a}}&amp;r=1'), 'https://a.b/?q=x y&z&r=1')
  t.equal(of('https://a.b/{{{b}}}#{{ a | 1 }}'), 'https://a.b/p/q?r#x y&z')
  t.equal(of('https://a.b/{{none|"x"}}'), 'https://a.b/x')
  for (const href of [
    '{{u}}',
    '{{u}}/x',
    'https://{{host}}/',
    'https://a.b{{a}}',
    'https://a.b.{{host}}/',
    '{{a}}://a.b',
  ]) {
    t.equal(of(href), undefined, href)
  }
  const entities = urlsOf('<a href="https://a.b/?{{{e}}}&amp;r={{e}}">', { e: 'x=1&amp;y=2&copy=3' })
  t.strictSame(entities, ['https://a.b/?x=1&y=2&copy=3&r=x=1&amp;y=2&copy=3'], 'entities of raw values are decoded')
  t.equal(of('https://a.b/{{{c}}}'), undefined, 'HTML that ends the attribute')
  t.equal(of(`https://a.b/${'x'.repeat(1_990)}{{a}}`), undefined, 'too long with its value')
})

t.test('only the requested kind of tracking is applied', async t => {
  const html = '<body><a href="https://a.b">x</a></body>'
  t.equal(track(html, { tracking: { opens: true, clicks: false } }).tracked.replace(PIXEL, ''), html)
  const clicks = track(html, { tracking: { opens: false, clicks: true } }).tracked
  t.equal(clicks.replace(LINK, 'https://a.b'), html)
})

t.test('the pixel stands before </body>, or at the end of the html', async t => {
  const where = (html: string) => track(html).tracked.replace(PIXEL, '[pixel]').replace(LINK, 'link')
  t.equal(where('<body>a</body></html>'), '<body>a[pixel]</body></html>')
  t.equal(where('a</BODY\n>b<a href=http://x>'), 'a[pixel]</BODY\n>b<a href=link>')
  t.equal(where('</body>a</body></ body><!-- </body> -->'), '</body>a[pixel]</body></ body><!-- </body> -->')
  t.equal(where('<p>a'), '<p>a[pixel]')
  t.equal(where(' \n'), ' \n', 'blank html is no part of the message')
})

t.test('links beyond the limit are not tracked, and the added size is known', async t => {
  const html = '<a href=http://x>'.repeat(MAX_TRACKED_LINKS + 5)
  const { tracked, urls, restored } = track(html)
  t.equal(urls.length, MAX_TRACKED_LINKS)
  t.equal(restored, html)
  for (const source of [html, '<a href=http://x>', '<p>', `<a href="https://x/${'é'.repeat(990)}">`]) {
    const { tracked } = track(source)
    const size = Buffer.byteLength(source)
    t.ok(Buffer.byteLength(tracked) <= size + sizeOfTracking(size, ORIGIN), source.slice(0, 20))
  }
  t.ok(tracked.length < html.length + sizeOfTracking(html.length, ORIGIN))
})

t.test('SharedLinks signs links once per key', async (t: Test) => {
  const shared = new SharedLinks()
  const link = { link: 0, url: 'https://a.b', written: 'https://a.b', is_shared: true }
  const first = shared.tokenOf(link, by.source_id, keys)
  t.equal(shared.tokenOf({ ...link, url: 'https://other' }, by.source_id, keys), first, 'they are signed once')
  const rotated = new TokenKeys([1, 2].map(kid => ({ kid, key: Buffer.alloc(32, kid) })))
  const second = shared.tokenOf(link, by.source_id, rotated)
  t.equal(parseLinkToken(second, keys), null)
  t.equal(parseLinkToken(second, rotated)?.url, 'https://a.b')
})

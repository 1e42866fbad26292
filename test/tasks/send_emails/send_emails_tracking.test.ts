import PostalMime from 'postal-mime'
import t, { type Test } from 'tap'
import { createReadTokenKeys } from '#flows/process/token_keys.ts'
import { TRACKED_RENDERER } from '#lib/contents/compile_content.ts'
import { parseLinkToken, parseRecipientToken } from '#lib/tracking/tracking_tokens.ts'
import { startApi } from '#test/support/api.ts'
import { deliverEmails, openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { type Message, startInbox } from '#test/support/smtp/inbox.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const BASE_URL = 'https://mail.acme.com'
const world = await openWorld(t, { BASE_URL })
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const { domain } = account
const keys = await createReadTokenKeys(world)()
const { pg } = world.pool

const post = async (path: string, body: object) => (await api.request('POST', `/api${path}`, { body })).body
const get = async (path: string) => (await api.request('GET', `/api${path}`)).body
const TO = ['ann@y.com', 'bob@y.com']
const BOTH = { track_opens: true, track_clicks: true }
const HTML = '<body><p>Hi <a class=x href="https://shop.com/?a=1&amp;b=2">Shop</a></p></body>'

const fields = (given: object = {}) => ({
  from: `News <news@${domain}>`,
  to: TO,
  subject: 'Hello',
  html: HTML,
  ...given,
})

/** Sends the accepted emails; returns what arrived, by recipient. */
async function deliver(t: Test, ids: string[]) {
  const inbox = await startInbox(t)
  const work = openWork(t, world, inbox.url)
  await deliverEmails(work, ids)
  const messages = inbox.messages.toSorted((a, b) => (String(a.rcpt_to) < String(b.rcpt_to) ? -1 : 1))
  return Promise.all(messages.map(read))
}

async function read({ raw, rcpt_to }: Message) {
  const { html, text } = await PostalMime.parse(raw)
  return { to: rcpt_to[0] as string, html: html?.trimEnd() ?? '', text: text?.trimEnd() ?? '' }
}

async function sendEmail(t: Test, given: object = {}) {
  const { id } = await post('/emails', fields(given))
  return { id: id as string, parsed: await deliver(t, [id]) }
}

async function deliveryOf(email_id: string, recipient: string) {
  const find = 'SELECT id, renderer FROM deliveries WHERE email_id = $1 AND recipient = $2'
  return (await pg.query(find, [email_id, recipient])).rows[0] as { id: string; renderer: number | null }
}

const PIXEL =
  /<img src="(https:[^"]+)\/t\/o\/([\w-]+)\.gif" alt="" width="1" height="1" style="width:1px;height:1px;border:0">/
const LINK = /(https:\/\/[^/"]+)\/t\/c\/([\w-]+)\/([\w-]+)/

/** The tracked link and the pixel in html, with the contents of their tokens. */
function tracksIn(html: string) {
  const [, pixelOrigin, open] = PIXEL.exec(html) ?? []
  const [, linkOrigin, link, click] = LINK.exec(html) ?? []
  return {
    pixel: open ? { origin: pixelOrigin, ...parseRecipientToken(open, 'open', keys) } : null,
    link: link ? { origin: linkOrigin, ...parseLinkToken(link, keys) } : null,
    clicked_by: click ? parseRecipientToken(click, 'click', keys) : null,
  }
}

t.test('each recipient gets its own pixel and links, and GET shows neither', async t => {
  const { id, parsed } = await sendEmail(t, BOTH)
  t.strictSame(
    parsed.map(({ to }) => to),
    TO,
  )
  for (const { to, html, text } of parsed) {
    const delivery = await deliveryOf(id, to)
    const recipient = { account_id: account.id, delivery_id: delivery.id }
    t.equal(delivery.renderer, TRACKED_RENDERER)
    t.strictSame(tracksIn(html), {
      pixel: { origin: BASE_URL, ...recipient },
      link: { origin: BASE_URL, source_id: id, link: 0, url: 'https://shop.com/?a=1&b=2' },
      clicked_by: recipient,
    })
    t.equal(html.replace(PIXEL, '').replace(LINK, 'https://shop.com/?a=1&amp;b=2'), HTML)
    t.match(html, /border:0"><\/body>$/)
    t.equal(text, 'Hi Shop <https://shop.com/?a=1&b=2>')
  }
  shows(t, await get(`/emails/${id}`), { html: HTML, text: 'Hi Shop <https://shop.com/?a=1&b=2>' })
})

/** The stored tracking fields of an email. */
async function storedOf(email_id: string) {
  const { rows } = await pg.query(
    `SELECT c.tracking, c.renderer, d.renderer AS delivered_by FROM email_contents c
     JOIN deliveries d ON d.email_id = c.email_id WHERE c.email_id = $1`,
    [email_id],
  )
  return rows[0]
}

async function setDomain(given: object) {
  const { status } = await api.request('PATCH', `/api/domains/${account.domain_id}`, { body: given })
  t.equal(status, 200)
}

t.test('SQL and Node have the same version of the renderer', async t => {
  t.strictSame((await pg.query('SELECT tracked_renderer() AS version')).rows, [{ version: TRACKED_RENDERER }])
})

t.test('the settings of the domain apply, when accepted, to fields the email leaves open', async t => {
  const UNTRACKED = { tracking: null, renderer: 1, delivered_by: 1 }
  const tracked = (tracking: number) => ({ tracking, renderer: TRACKED_RENDERER, delivered_by: TRACKED_RENDERER })
  const accepted = async (given: object = {}) => (await post('/emails', fields({ to: 'ann@y.com', ...given }))).id
  const of = async (given: object = {}) => storedOf(await accepted(given))
  t.strictSame(await of(), UNTRACKED)
  await setDomain({ open_tracking: true })
  t.strictSame(await of(), tracked(1))
  t.strictSame(await of({ track_clicks: true }), tracked(3))
  t.strictSame(await of({ track_opens: false, track_clicks: null }), UNTRACKED)
  await setDomain({ open_tracking: false, click_tracking: true })
  t.strictSame(await of({ track_opens: null }), tracked(2))
  t.strictSame(await of({ html: undefined, text: 'Hi https://a.b', ...BOTH }), {
    tracking: null,
    renderer: null,
    delivered_by: null,
  })
  t.strictSame(await of({ html: '', text: 'Hi', ...BOTH }), { tracking: null, renderer: null, delivered_by: null })

  const id = await accepted()
  await setDomain({ click_tracking: false })
  const [{ html = '' } = {}] = await deliver(t, [id])
  t.equal(tracksIn(html).link?.url, 'https://shop.com/?a=1&b=2', 'a later change of the domain changes nothing')
  t.equal(tracksIn(html).pixel, null)
})

t.test('links in shared content contain the id of the content', async t => {
  const html = `<p>{{name}} <a href="https://a.b/{{name}}">x</a><a href="https://c.d">y</a></p>${'x'.repeat(2_000)}`
  const { id: template_id } = await post('/templates', { name: 'x', html })
  await post(`/templates/${template_id}/publish`, {})
  const { id, parsed } = await sendEmail(t, { html: undefined, template_id, variables: { name: 'A&B' }, ...BOTH })
  const { rows } = await pg.query('SELECT content_id FROM email_contents WHERE email_id = $1', [id])
  for (const { html } of parsed) {
    const links = [...html.matchAll(new RegExp(LINK, 'g'))].map(([, , token]) => parseLinkToken(String(token), keys))
    t.strictSame(links, [
      { source_id: rows[0].content_id, link: 0, url: 'https://a.b/A&B' },
      { source_id: rows[0].content_id, link: 1, url: 'https://c.d' },
    ])
  }
  t.equal(parsed[0]?.html.match(LINK)?.[0] === parsed[1]?.html.match(LINK)?.[0], false)

  const batch = await post(
    '/emails/batch',
    TO.map((to, n) => fields({ to, html: html.replaceAll('{{name}}', 'z'), track_clicks: n > 0, track_opens: true })),
  )
  const ids = batch.data.map(({ id }) => id)
  const sent = await deliver(t, ids)
  t.strictSame(
    sent.map(({ html }) => [tracksIn(html).pixel !== null, tracksIn(html).link?.url]),
    [
      [true, undefined],
      [true, 'https://a.b/z'],
    ],
  )
})

t.test('a text part derived per recipient has the original links', async t => {
  const html = '<p>{{{body}}} {{{UNSUBSCRIBE_URL}}} <a href="https://a.b/?x">x</a>'
  const { parsed } = await sendEmail(t, { html, variables: { body: '<a href="https://r.aw">raw</a>' }, ...BOTH })
  for (const { html, text } of parsed) {
    t.match(
      html,
      /<p><a href="https:\/\/r\.aw">raw<\/a> https:\/\/mail\.acme\.com\/u\//,
      'a link in a value is not tracked',
    )
    t.equal(tracksIn(html).link?.url, 'https://a.b/?x')
    t.match(text, /^raw <https:\/\/r\.aw> https:\/\/mail\.acme\.com\/u\/[\w-]+ x <https:\/\/a\.b\/\?x>$/)
  }
})

t.test('links use the tracking host of the domain once it is verified', async t => {
  const check = (status: string) =>
    pg.query(
      `INSERT INTO domain_records (account_id, domain_id, name, type, status) VALUES ($1, $2, $3, 'CNAME', $4)
       ON CONFLICT (account_id, domain_id, name, type) DO UPDATE SET status = excluded.status`,
      [account.id, account.domain_id, `go.${domain}`, status],
    )
  await setDomain({ tracking_subdomain: 'go' })
  await pg.query(`UPDATE domains SET status = 'verified' WHERE id = $1`, [account.domain_id])
  for (const [status, origin] of [
    ['pending', BASE_URL],
    ['verified', `https://go.${domain}`],
    ['temporary_failure', `https://go.${domain}`],
    ['failed', BASE_URL],
  ] as const) {
    await check(status)
    const { parsed } = await sendEmail(t, { to: 'ann@y.com', ...BOTH })
    const { pixel, link } = tracksIn(parsed[0]?.html ?? '')
    t.strictSame([pixel?.origin, link?.origin], [origin, origin], status)
  }
  await check('verified')
  await setDomain({ tracking_subdomain: null })
  const { parsed } = await sendEmail(t, { to: 'ann@y.com', ...BOTH })
  t.equal(tracksIn(parsed[0]?.html ?? '').pixel?.origin, BASE_URL, 'another host is not verified')
})

t.test('a tracked email sent again has the same bytes, with attachments too', async t => {
  const attachments = [{ filename: 'a.txt', content: Buffer.from('a').toString('base64') }]
  for (const given of [{}, { attachments }]) {
    const { id, parsed } = await sendEmail(t, { to: 'ann@y.com', ...BOTH, ...given })
    await pg.query(`UPDATE deliveries SET state = 'queued', next_at = now() WHERE email_id = $1`, [id])
    t.strictSame(await deliver(t, [id]), parsed)
    t.equal(tracksIn(parsed[0]?.html ?? '').link?.link, 0)
  }
})

t.test('an email to a contact with do_not_track is not tracked for any recipient', async t => {
  const email = 'cat@y.com'
  shows(t, await post('/contacts', { email, do_not_track: true }), { object: 'contact' })
  const { parsed } = await sendEmail(t, { to: ['Ann@y.com', 'Cat@Y.com'], ...BOTH })
  for (const { to, html } of parsed) t.equal(html, HTML, to)
  await api.request('PATCH', `/api/contacts/${email}`, { body: { domain, do_not_track: false } })
  shows(t, await get(`/contacts/${email}`), { email, do_not_track: false })
  const again = await sendEmail(t, { to: [email], ...BOTH })
  t.match(again.parsed[0]?.html, /<img [^>]*src="https:\/\/mail\.acme\.com\//)
})

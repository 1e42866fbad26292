import PostalMime from 'postal-mime'
import t, { type Test } from 'tap'
import { createReadTokenKeys } from '#flows/process/token_keys.ts'
import { TRACKED_RENDERER } from '#lib/contents/compile_content.ts'
import { parseLinkToken, parseRecipientToken } from '#lib/tracking/tracking_tokens.ts'
import { send_emails } from '#tasks/send_emails.ts'
import { startApi } from '#test/support/api.ts'
import { openWork } from '#test/support/sending.ts'
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

/** Sends what was accepted; returns what arrived by recipient. */
async function deliver(t: Test, ids: string[]) {
  const inbox = await startInbox(t)
  const work = openWork(t, world, inbox.url)
  await send_emails({ email_ids: ids }, work)
  await work.sender.idle()
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

/** The tracked link and the pixel in html, by what their tokens say. */
function tracksIn(html: string) {
  const [, pixelOrigin, open] = PIXEL.exec(html) ?? []
  const [, linkOrigin, link, click] = LINK.exec(html) ?? []
  return {
    pixel: open ? { origin: pixelOrigin, ...parseRecipientToken(open, 'open', keys) } : null,
    link: link ? { origin: linkOrigin, ...parseLinkToken(link, keys) } : null,
    clicked_by: click ? parseRecipientToken(click, 'click', keys) : null,
  }
}

t.test('each recipient gets a pixel and links of its own, and GET shows neither', async t => {
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

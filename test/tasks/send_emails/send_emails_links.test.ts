import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import PostalMime from 'postal-mime'
import t, { type Test } from 'tap'
import { createReadTokenKeys } from '#flows/process/token_keys.ts'
import { parseUnsubscribeToken } from '#lib/contacts/unsubscribe_token.ts'
import { dkimRecordValue } from '#lib/mail/dkim.ts'
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

const post = async (path: string, body: object) => (await api.request('POST', `/api${path}`, { body })).body
const get = async (path: string) => (await api.request('GET', `/api${path}`)).body
const topic = (await post('/topics', { name: 'News', default_subscription: 'opt_in' })).id
const TO = ['ann@y.com', 'Bob@y.com']

const fields = (given: object = {}) => ({ from: `News <news@${domain}>`, to: TO, subject: 'Hello', ...given })

/** Sends an email or a batch; returns its id and what arrived, sorted by recipient. */
async function send(t: Test, given: object | object[], environment = world) {
  const inbox = await startInbox(t)
  const work = openWork(t, environment, inbox.url)
  const answer = await post(Array.isArray(given) ? '/emails/batch' : '/emails', given)
  const ids = answer.data?.map(({ id }) => id) ?? [answer.id]
  await deliverEmails(work, ids)
  const messages = inbox.messages.toSorted((a, b) => (String(a.rcpt_to) < String(b.rcpt_to) ? 1 : -1))
  return { id: ids[0] as string, messages, parsed: await Promise.all(messages.map(read)) }
}

async function read({ raw, rcpt_to }: Message) {
  const { html, text, headers } = await PostalMime.parse(raw)
  const lists = headers
    .filter(({ key }) => key.startsWith('list-') || key === 'feedback-id')
    .map(({ originalKey, value }) => [originalKey, value])
  return { to: rcpt_to[0], html: html?.trimEnd(), text: text?.trimEnd(), lists }
}

/** The content of the token of a recipient, without the email. */
function tokenOf(url: string) {
  const token = parseUnsubscribeToken(url.slice(`${BASE_URL}/u/`.length), keys)
  return token && { domain_id: token.domain_id, address: token.address, topic_id: token.topic_id }
}

/** The List- headers of an email about the topic. */
const listsOf = (url: string) => [
  ['List-Id', `<${topic}.${domain}>`],
  ['List-Unsubscribe', `<${url}>`],
  ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'],
  ['Feedback-ID', `:${account.id.slice(-12)}:${topic.slice(-12)}:${account.domain_id.slice(-12)}`],
]

function urlIn(text: string | undefined): string {
  const [url] = text?.match(/https:\/\/mail\.acme\.com\/u\/[\w-]+/) ?? []
  return String(url)
}

t.test('each recipient gets its own unsubscribe links and headers, which are signed', async t => {
  const html = '<a href="{{unsubscribe_url}}">Out</a> <i>{{{RESEND_UNSUBSCRIBE_URL}}}</i> {{name}} {{other|x}}'
  const text = 'Out: {{UNSUBSCRIBE_URL}} {{name}}'
  const { id, messages, parsed } = await send(t, fields({ html, text, topic_id: topic }))
  const urls = parsed.map(({ text }) => urlIn(text))
  t.strictSame(
    parsed,
    ['ann@y.com', 'Bob@y.com'].map((to, n) => ({
      to,
      html: `<a href="${urls[n]}">Out</a> <i>${urls[n]}</i> {{name}} {{other|x}}`,
      text: `Out: ${urls[n]} {{name}}`,
      lists: listsOf(urls[n] as string),
    })),
  )
  const token = { domain_id: account.domain_id, topic_id: topic }
  t.strictSame(urls.map(tokenOf), [
    { ...token, address: 'ann@y.com' },
    { ...token, address: 'bob@y.com' },
  ])

  const resolver = async () => [[dkimRecordValue('rsa-sha256', account.dkim.public_key)]]
  for (const { raw } of messages) {
    const { results } = await dkimVerify(raw, { resolver, strict: true })
    shows(t, results, [{ status: { result: 'pass' } }])
    const signed = results[0]?.signingHeaders?.keys.toLowerCase() ?? ''
    for (const name of ['list-id', 'list-unsubscribe', 'list-unsubscribe-post']) t.ok(signed.includes(name), name)
  }
  shows(t, await get(`/emails/${id}`), { html, text, topic_id: topic, headers: {}, status: 'delivered' })
})

t.test('the derived text part has the link of each recipient, and GET shows the placeholder', async t => {
  for (const placeholder of ['{{unsubscribe_url}}', '{{{UNSUBSCRIBE_URL}}}']) {
    const { id, parsed } = await send(t, fields({ html: `<p>Hi <a href="${placeholder}">Out</a>` }))
    const urls = parsed.map(({ html }) => urlIn(html))
    t.strictSame(
      parsed.map(({ text }) => text),
      urls.map(url => `Hi Out <${url}>`),
    )
    t.strictSame(
      urls.map(url => tokenOf(url)?.topic_id),
      [null, null],
    )
    t.strictSame(
      parsed.map(({ lists }) => lists),
      [[], []],
      'without a topic it is mail to nobody’s list',
    )
    shows(t, await get(`/emails/${id}`), { text: `Hi Out <${placeholder}>`, topic_id: null })
  }
})

t.test('a List-Unsubscribe header of the caller wins', async t => {
  const headers = { 'list-unsubscribe': '<https://acme.com/out>', 'X-Own': 'yes' }
  const { messages, parsed } = await send(t, fields({ text: 'Hi', headers, topic_id: topic }))
  t.strictSame(
    parsed.map(({ lists }) => lists),
    Array(2).fill([['list-unsubscribe', '<https://acme.com/out>']]),
  )
  t.ok(messages[0]?.raw.equals(messages[1]?.raw as Buffer), 'the message is the same for both')

  const others = { 'List-Id': 'Mine <mine.acme.com>', 'List-Help': '<https://acme.com/help>' }
  const second = await send(t, fields({ text: 'Hi', to: 'ann@y.com', headers: others, topic_id: topic }))
  const [lists = []] = second.parsed.map(({ lists }) => lists)
  t.strictSame(lists.map(([name]) => name).sort(), [
    'Feedback-ID',
    'List-Help',
    'List-Id',
    'List-Unsubscribe',
    'List-Unsubscribe-Post',
  ])
  t.strictSame(Object.fromEntries(lists)['List-Id'], 'Mine <mine.acme.com>')
})

t.test('an email without a topic or link is composed once and has no List- headers', async t => {
  for (const given of [{ html: '<p>{{name}} {{{x|y}}}' }, { text: 'unsubscribe_url' }, { html: 'x', text: 'y' }]) {
    const { id, messages, parsed } = await send(t, fields(given))
    t.ok(messages[0]?.raw.equals(messages[1]?.raw as Buffer))
    shows(t, parsed, Array(2).fill({ lists: [], ...given }))
    shows(t, await get(`/emails/${id}`), given)
    const { rows } = await world.pool.pg.query(
      'SELECT DISTINCT renderer, topic_id FROM deliveries WHERE email_id = $1',
      [id],
    )
    t.strictSame(rows, [{ renderer: 'html' in given && !('text' in given) ? 1 : null, topic_id: null }])
  }
})

t.test('a template gets the links of each recipient, and a variable of the caller wins', async t => {
  const html = '<p>{{name}} <a href="{{{unsubscribe_url}}}">Out</a> {{UNSUBSCRIBE_URL}}'
  const { id: template_id } = await post('/templates', { name: 'x', html })
  await post(`/templates/${template_id}/publish`, {})
  const { id, parsed } = await send(t, fields({ template_id, variables: { name: 'A & B' }, topic_id: topic }))
  const urls = parsed.map(({ html }) => urlIn(html))
  shows(
    t,
    parsed,
    urls.map(url => ({
      html: `<p>A &amp; B <a href="${url}">Out</a> ${url}`,
      text: `A & B Out <${url}> ${url}`,
      lists: listsOf(url),
    })),
  )
  t.equal(new Set(urls).size, 2)
  const left = '<p>A &amp; B <a href="{{{unsubscribe_url}}}">Out</a> {{UNSUBSCRIBE_URL}}'
  const leftText = 'A & B Out <{{unsubscribe_url}}> {{unsubscribe_url}}'
  shows(t, await get(`/emails/${id}`), { html: left, text: leftText, topic_id: topic, template_id })

  const own = { unsubscribe_url: 'https://acme.com/out', name: 'C' }
  const second = await send(t, fields({ text: '{{name}} {{unsubscribe_url}}', variables: own }))
  shows(t, second.parsed, Array(2).fill({ text: 'C https://acme.com/out' }))
  t.ok(second.messages[0]?.raw.equals(second.messages[1]?.raw as Buffer))
})

t.test('emails of a batch that share content have the links of each recipient', async t => {
  const html = `<p>{{unsubscribe_url}}</p>${'x'.repeat(2_000)}`
  const batch = TO.map(to => fields({ to, html, topic_id: topic }))
  const { id, parsed } = await send(t, batch)
  const urls = parsed.map(({ html }) => urlIn(html))
  t.strictSame(
    urls.map(url => tokenOf(url)?.address),
    ['ann@y.com', 'bob@y.com'],
  )
  shows(
    t,
    parsed,
    urls.map(url => ({ html: html.replace('{{unsubscribe_url}}', url), lists: listsOf(url) })),
  )
  const { rows } = await world.pool.pg.query(
    'SELECT html, content_id IS NOT NULL AS shared FROM email_contents WHERE email_id = $1',
    [id],
  )
  t.strictSame(rows, [{ html: null, shared: true }])
  shows(t, await get(`/emails/${id}`), { html })
})

t.test('html stored while it was uploaded has the links of each recipient', async t => {
  const long = 'x'.repeat(2_200_000)
  const batch = [`${long}{{unsubscribe_url}}`, `${long}{{name}}`].map(html =>
    fields({ to: 'ann@y.com', html, text: 'y' }),
  )
  const { parsed } = await send(t, batch)
  const ends = parsed.map(({ html }) => html?.slice(2_200_000)).sort()
  t.strictSame([tokenOf(String(ends[0]))?.address, ends[1]], ['ann@y.com', '{{name}}'])
})

t.test('List-Unsubscribe contains a mailto address if the server receives it', async t => {
  const receiving = { ...world, config: { ...world.config, RETURN_PATH_DOMAIN: 'bounces.acme.com' } }
  const { parsed } = await send(t, fields({ text: 'Hi', topic_id: topic }), receiving)
  const values = parsed.map(({ lists }) => Object.fromEntries(lists)['List-Unsubscribe'])
  for (const value of values) {
    t.match(value, /^<https:\/\/mail\.acme\.com\/u\/[\w-]+>, <mailto:u-[a-z2-7]{42}@bounces\.acme\.com>$/)
  }
  t.equal(new Set(values).size, 2)
})

t.test('List-Unsubscribe-Post requires https', async t => {
  const plain = { ...world, config: { ...world.config, BASE_URL: 'http://localhost:3000' } }
  const { parsed } = await send(t, fields({ text: 'Hi', to: 'ann@y.com', topic_id: topic }), plain)
  t.strictSame(
    parsed[0]?.lists.map(([name]) => name),
    ['List-Id', 'List-Unsubscribe', 'Feedback-ID'],
  )
})

t.test('an email sent again to a recipient has the same bytes', async t => {
  const inbox = await startInbox(t)
  const work = openWork(t, world, inbox.url)
  const { id } = await post('/emails', fields({ to: 'ann@y.com', html: '{{unsubscribe_url}}', topic_id: topic }))
  for (let n = 0; n < 2; n++) {
    await world.pool.pg.query(`UPDATE deliveries SET state = 'queued', next_at = now() WHERE email_id = $1`, [id])
    await deliverEmails(work, [id])
  }
  const [first, second] = inbox.messages.map(({ raw }) => raw)
  t.ok(first?.equals(second as Buffer))
})

t.test('one-click unsubscribes the recipient from the topic, and nobody else', async t => {
  const own = (await post('/topics', { name: 'One click', default_subscription: 'opt_in' })).id
  const given = fields({ text: 'Hi {{unsubscribe_url}}', topic_id: own })
  const { parsed } = await send(t, given)
  const [ann] = parsed.map(({ text }) => urlIn(text))
  const answer = await fetch(`${api.url}${String(ann).slice(BASE_URL.length)}`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'List-Unsubscribe=One-Click',
  })
  t.equal(answer.status, 200)
  const second = await send(t, given)
  t.strictSame(
    second.parsed.map(({ to }) => to),
    ['Bob@y.com'],
  )
  const other = await send(t, fields({ text: 'Hi', topic_id: topic }))
  t.equal(other.messages.length, 2)
})

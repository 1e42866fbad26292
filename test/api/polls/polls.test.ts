import PostalMime from 'postal-mime'
import t, { type Test } from 'tap'
import { startApi } from '#test/support/api.ts'
import { makePolled, POLL } from '#test/support/polls.ts'
import { deliverEmails, openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { startInbox } from '#test/support/smtp/inbox.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)

type Shown = {
  id: string
  email_id: string
  html: string | null
  text: string | null
  data: Shown[]
  last_response_at: string
  responses: { answered_at: string }[]
}
const post = (path: string, body: object) => api.request('POST', `/api${path}`, { body })
const get = async (path: string) => (await api.request('GET', `/api${path}`)).body as unknown as Shown
const fields = (given: object = {}) => ({
  ...{ from: `Acme <hi@${account.domain}>`, to: ['ann@y.com'], subject: 'Survey', html: '<p>Hi</p>', poll: POLL },
  ...given,
})
const press = (path: string, answer: string) =>
  fetch(api.url + path, { method: 'POST', body: new URLSearchParams({ answer }) })

/** Sends an email; returns its id and the messages that arrived, sorted by recipient. */
async function send(t: Test, given: object = {}) {
  const inbox = await startInbox(t)
  const work = openWork(t, world, inbox.url)
  const { status, text, body } = await post('/emails', fields(given))
  if (status !== 200) throw new Error(text)
  await deliverEmails(work, [body.id])
  const messages = inbox.messages.toSorted((a, b) => (String(a.rcpt_to) < String(b.rcpt_to) ? -1 : 1))
  const parsed = await Promise.all(messages.map(({ raw }) => PostalMime.parse(raw)))
  const unix = (text = '') => text.replaceAll('\r\n', '\n')
  return { id: body.id, messages: parsed.map(({ html, text }) => ({ html: unix(html), text: unix(text) })) }
}

/** Returns the paths of poll links in a text. */
const linksIn = (text: string) =>
  [...text.matchAll(/https?:\/\/[^\s"<>]+(\/p\/[\w-]{60}\/[\w-]+)/g)].map(([, path]) => path as string)

t.test('GET /polls/:id returns the answers of recipients of an email', async t => {
  const { id, messages } = await send(t, { to: ['ann@y.com', 'bob@y.com'], html: '<p>Hi</p>{{poll}}<p>Bye</p>' })
  const [ann, bob] = messages.map(({ html }) => linksIn(html)) as [string[], string[]]
  t.match(messages[0]?.html, /<p>Hi<\/p><div.*How did we do\?.*<\/div><p>Bye<\/p>/s)
  t.strictSame(
    ann.map(path => path.split('/')[3]),
    ['great', 'ok', 'bad'],
  )
  t.not(ann[0], bob[0])
  t.match(messages[0]?.text, /^Hi\n\nHow did we do\?\n\nGreat <http.*>\nOK <http.*>\nBad <http.*>\n\nBye/)
  t.strictSame(linksIn(messages[0]?.text ?? ''), ann)

  t.equal((await fetch(api.url + ann[0])).status, 200)
  shows(
    t,
    await get(`/polls/${id}`),
    { responses_count: 0, sent_count: 2, responses: [] },
    'a link alone answers nothing',
  )
  t.equal((await press(ann[0] as string, 'great')).status, 200)
  t.equal((await press(bob[2] as string, 'bad')).status, 200)
  t.equal((await press(ann[0] as string, 'ok')).status, 200)

  const poll = await get(`/polls/${id}`)
  shows(t, poll, {
    ...{ object: 'poll', email_id: id, campaign_id: null, question: 'How did we do?', subject: 'Survey' },
    ...{ responses_count: 2, sent_count: 2 },
    answers: [
      { key: 'great', label: 'Great', count: 0, percentage: 0 },
      { key: 'ok', label: 'OK', count: 1, percentage: 50 },
      { key: 'bad', label: 'Bad', count: 1, percentage: 50 },
    ],
    responses: [
      { email: 'ann@y.com', answer: 'ok', contact_id: null },
      { email: 'bob@y.com', answer: 'bad', contact_id: null },
    ],
  })
  t.equal(poll.last_response_at, poll.responses[0]?.answered_at)
  t.strictSame(await get(`/polls/${poll.id}`), poll)
  shows(t, (await get('/polls')).data, [{ id: poll.id, responses_count: 2 }])
})

const shown = async (given: object) => {
  const { status, text, body } = await post('/emails', fields(given))
  if (status !== 200) throw new Error(text)
  return get(`/emails/${body.id}`)
}
const URLS = ['great', 'ok', 'bad'].map(key => `{{poll_url:${key}}}`)
const placed = (text: string | null) => [...(text ?? '').matchAll(/\{\{poll_url:\w+\}\}/g)].map(([found]) => found)

t.test('a poll is placed at `{{poll}}`, or else at the end', async t => {
  const poll = async (given: object) => {
    const { html, text } = await shown(given)
    return { html: html?.replace(/<div style.*<\/div>/s, '[poll]'), urls: placed(html), texts: placed(text) }
  }
  const all = { urls: URLS, texts: URLS }
  t.strictSame(await poll({ html: '<body><p>a {{ poll }} b</p></body>' }), {
    html: '<body><p>a [poll] b</p></body>',
    ...all,
  })
  t.strictSame(await poll({ html: '<body><p>a</p></body>' }), { html: '<body><p>a</p>[poll]</body>', ...all })
  t.strictSame(await poll({ html: undefined }), { html: '[poll]', ...all })
  const own = '<a href="{{poll_url:bad}}">x</a>'
  t.strictSame(await poll({ html: own }), { html: own, urls: [URLS[2]], texts: [URLS[2]] })
  t.strictSame(await poll({ html: '<p>{{poll}}', text: '' }), { html: '<p>[poll]', urls: URLS, texts: [] })
  const { text } = await shown({ html: undefined, text: 'Hi\n' })
  t.equal(text, `Hi\n\nHow did we do?\n\nGreat: ${URLS[0]}\nOK: ${URLS[1]}\nBad: ${URLS[2]}\n`)
})

t.test('poll links in the html make a poll without `poll`', async t => {
  const html =
    '<a href="{{poll_url:yes}}">Yes</a> <a href="{{{poll_url:no}}}">No</a> <a href="{{poll_url:yes}}">Yes!</a>'
  const { id, messages } = await send(t, { html, poll: null })
  const [yes = '', no] = linksIn(messages[0]?.html ?? '')
  t.strictSame([yes.split('/')[3], no?.split('/')[3]], ['yes', 'no'])
  await press(yes, 'yes')
  shows(t, await get(`/polls/${id}`), {
    question: 'Survey',
    answers: [
      { key: 'yes', label: 'yes', count: 1 },
      { key: 'no', label: 'no', count: 0 },
    ],
  })
  const values = await shown({ html, poll: undefined, subject: 'For {{name}}', variables: { name: 'Ann' } })
  shows(t, await get(`/polls/${values.id}`), { question: 'For Ann' })
  shows(t, await get(`/polls/${(await shown({ html: '<p>{{poll}} {{x}}', poll: null })).id}`), { name: 'not_found' })
})

t.test('an invalid poll is refused with 422', async t => {
  const options = POLL.options
  for (const [poll, message] of [
    [{ options }, /Missing `poll.question`/],
    [{ question: ' ', options }, /`poll.question` must be one line/],
    [{ question: 'a\nb', options }, /`poll.question` must be one line/],
    [{ question: 'x'.repeat(301), options }, /`poll.question` must have at most 300/],
    [{ question: 'Hi {{name}}', options }, /`poll.question` must not have placeholders/],
    [{ question: 'x', options: ['a'] }, /`poll.options` must have 2 to 10 options/],
    [
      { question: 'x', options: Array.from({ length: 11 }, (_, n) => `${n}`) },
      /`poll.options` must have 2 to 10 options/,
    ],
    [{ question: 'x', options: ['a', 'x'.repeat(81)] }, /`poll.options\[1\]` must have at most 80 characters/],
    [{ question: 'x', options: ['a', { key: 'a b', label: 'b' }] }, /`poll.options\[1\].key` must be 1 to 80 letters/],
    [{ question: 'x', options: ['a', 1] }, /`poll.options\[1\]` must be a string, or an object/],
    [{ question: 'x', options: ['a', 'a'] }, /`poll.options` must have different labels/],
    [
      {
        question: 'x',
        options: [
          { key: 'a', label: 'a' },
          { key: 'a', label: 'b' },
        ],
      },
      /must have different keys/,
    ],
    ['x', /`poll` must be/],
  ] as const) {
    const { status, body } = await post('/emails', fields({ poll }))
    t.equal(status, 422, JSON.stringify(poll))
    t.match(body.message, message, JSON.stringify(poll))
  }
  const unknown = await post('/emails', fields({ html: '<a href="{{poll_url:Great}}">' }))
  shows(t, unknown, { status: 422, body: { name: 'validation_error' } })
  t.match(
    unknown.body.message,
    /^The poll has no option for `{{poll_url:Great}}`; its keys are "great", "ok", "bad"\.$/,
  )
  const many = Array.from({ length: 11 }, (_, n) => `{{poll_url:k${n}}}`).join('')
  shows(t, await post('/emails', fields({ html: many, poll: null })), { status: 422 })
})

t.test('a poll works with templates, batches, long html and tracking', async t => {
  const template = { name: 'Survey', alias: 'survey', html: '<p>{{name}}</p>{{poll}}', subject: 'Hi {{name}}' }
  const { id } = (await post('/templates', template)).body
  await post(`/templates/${id}/publish`, {})
  const filled = await shown({ html: undefined, template_id: 'survey', variables: { name: 'Ann & Bob', poll: 'mine' } })
  t.match(filled.html, /^<p>Ann &amp; Bob<\/p><div.*How did we do/)
  t.strictSame(placed(filled.html), URLS)

  const { messages } = await send(t, { track_clicks: true, track_opens: true, html: '<a href="https://a.b">x</a>' })
  t.match(messages[0]?.html, /<a href="http:\/\/localhost:3000\/t\/c\/[\w-]+\/[\w-]+">x<\/a><div/)
  t.equal(linksIn(messages[0]?.html ?? '').length, 3)
  t.match(messages[0]?.html, /\/t\/o\//)

  const long = `<p>${'<!-- long -->'.repeat(170_000)}x</p>`
  const { body } = await post('/emails/batch', [fields(), fields({ html: '{{poll_url:x}}' })])
  t.match(body.message, /^emails\[1\]: The poll has no option for `{{poll_url:x}}`/)
  const batch = await post('/emails/batch', [
    fields({ html: long }),
    fields({ html: `${long}{{poll}}`, poll: undefined }),
  ])
  const [first = '', second = ''] = batch.body.data.map(({ id }: { id: string }) => id)
  t.strictSame(placed((await get(`/emails/${first}`)).html), URLS)
  shows(t, await get(`/polls/${first}`), { question: 'How did we do?' })
  shows(t, await get(`/polls/${second}`), { name: 'not_found' })
})

t.test('GET /polls has pages, and filters by domain and campaign', async t => {
  const own = await newAccount(world)
  const ids: string[] = []
  for (let n = 0; n < 3; n++) ids.unshift((await makePolled(world, own)).email_id)
  const list = async (query: string) => {
    const { body } = await api.request('GET', `/api/polls${query}`, { key: own.key })
    return (body as unknown as Shown).data.map(({ email_id }) => email_id)
  }
  t.strictSame(await list(''), ids)
  t.strictSame(await list('?limit=1'), ids.slice(0, 1))
  t.strictSame(await list(`?domain=${own.domain}`), ids)
  t.strictSame(await list(`?campaign_id=${ids[0]}`), [])
  const foreign = await api.request('GET', `/api/polls?domain=${account.domain}`, { key: own.key })
  t.equal(foreign.status, 422)
})

import PostalMime from 'postal-mime'
import t, { type Test } from 'tap'
import { send_emails } from '#tasks/send_emails.ts'
import { startApi } from '#test/support/api.ts'
import { POLL } from '#test/support/polls.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { startInbox } from '#test/support/smtp/inbox.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)

type Shown = { id: string; data: Shown[]; last_response_at: string; responses: { answered_at: string }[] }
const post = (path: string, body: object) => api.request('POST', `/api${path}`, { body })
const get = async (path: string) => (await api.request('GET', `/api${path}`)).body as unknown as Shown
const fields = (given: object = {}) => ({
  ...{ from: `Acme <hi@${account.domain}>`, to: ['ann@y.com'], subject: 'Survey', html: '<p>Hi</p>', poll: POLL },
  ...given,
})
const press = (path: string, answer: string) =>
  fetch(api.url + path, { method: 'POST', body: new URLSearchParams({ answer }) })

/** Sends an email; returns its id, and what arrived by recipient. */
async function send(t: Test, given: object = {}) {
  const inbox = await startInbox(t)
  const work = openWork(t, world, inbox.url)
  const { status, text, body } = await post('/emails', fields(given))
  if (status !== 200) throw new Error(text)
  await send_emails({ email_ids: [body.id] }, work)
  await work.sender.idle()
  const messages = inbox.messages.toSorted((a, b) => (String(a.rcpt_to) < String(b.rcpt_to) ? -1 : 1))
  const parsed = await Promise.all(messages.map(({ raw }) => PostalMime.parse(raw)))
  const unix = (text = '') => text.replaceAll('\r\n', '\n')
  return { id: body.id, messages: parsed.map(({ html, text }) => ({ html: unix(html), text: unix(text) })) }
}

/** Links of a poll, as paths. */
const linksIn = (text: string) =>
  [...text.matchAll(/https?:\/\/[^\s"<>]+(\/p\/[\w-]{60}\/[\w-]+)/g)].map(([, path]) => path as string)

t.test('an email asks, its recipients answer, and GET /polls/:id tells', async t => {
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

import PostalMime from 'postal-mime'
import t, { type Test } from 'tap'
import { removeCampaignsOfDomain } from '#flows/campaigns/remove_campaigns.ts'
import { startApi } from '#test/support/api.ts'
import { addContacts, createDraft, sendUntil } from '#test/support/campaigns.ts'
import { POLL, readPollState } from '#test/support/polls.ts'
import { deliverEmails, openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { startInbox } from '#test/support/smtp/inbox.ts'
import { newAccount, openWorld, type TestAccount } from '#test/support/world.ts'

const BASE_URL = 'https://mail.acme.com'
const world = await openWorld(t, { BASE_URL })
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const [ada = '', bob = ''] = await addContacts(world, account, ['ada@b.com', 'bob@b.com'])

const request = async (method: string, path: string, body?: object, key = account.key) =>
  (await api.request(method, `/api${path}`, { key, ...(body && { body }) })).body
const press = (path: string, answer: string) =>
  fetch(api.url + path, { method: 'POST', body: new URLSearchParams({ answer }) })

/** Returns the paths of poll links in each message, by recipient. */
async function linksOf(inbox: Awaited<ReturnType<typeof startInbox>>) {
  const links = new Map<string, string[]>()
  for (const { rcpt_to, raw } of inbox.messages) {
    const { html = '' } = await PostalMime.parse(raw)
    const found = [...html.matchAll(/https:\/\/mail\.acme\.com(\/p\/[\w-]{60}\/[\w-]+)"/g)].map(
      ([, path]) => path as string,
    )
    links.set(String(rcpt_to), [...(links.get(String(rcpt_to)) ?? []), ...found])
  }
  return links
}

/** Sends a campaign to all contacts; returns its id, the links of its poll and the messages. */
async function send(t: Test, draft: object, sender: TestAccount = account) {
  const inbox = await startInbox(t)
  const work = openWork(t, world, inbox.url)
  const id = await createDraft(api, sender, draft)
  const { status, text } = await api.request('POST', `/api/campaigns/${id}/send`, { key: sender.key, body: {} })
  if (status !== 200) throw new Error(text)
  await sendUntil(work, { account_id: sender.id, campaign_id: id })
  const mails = await Promise.all(inbox.messages.map(({ raw }) => PostalMime.parse(raw)))
  return { id, links: await linksOf(inbox), mails }
}

const POLLED = {
  'with a poll in its text': { html: '<p>x</p>{{poll}}', text: 'x {{poll}}', poll: POLL },
  'with a poll at its end': { html: '<p>x</p>', text: 'x', poll: POLL },
  'with links of a poll': { html: '<a href="{{poll_url:ok}}">x</a>', text: '{{poll_url:ok}}', poll: POLL },
}
const variantsOfAll = Object.values(POLLED).map(({ html, text }) => ({ html, text }))
const TESTED = { html: '<p>x</p>', poll: POLL, ab_test: { test_percentage: 100, variants: variantsOfAll } }

for (const [name, draft] of Object.entries({ ...POLLED, 'of variants with a poll': TESTED })) {
  t.test(`a campaign ${name} has an unsubscribe footer`, async t => {
    const sender = await newAccount(world)
    await addContacts(world, sender, ['ada@b.com', 'bob@b.com', 'eve@b.com'])
    const { mails } = await send(t, draft, sender)
    t.equal(mails.length, 3)
    for (const { html = '', text = '', headers } of mails) {
      t.match(html, /<a href="https:\/\/mail\.acme\.com\/u\/[\w-]+">Unsubscribe<\/a>/)
      t.match(text, /^Unsubscribe: https:\/\/mail\.acme\.com\/u\/[\w-]+\r$/m)
      t.match(headers.find(({ key }) => key === 'list-unsubscribe')?.value, /<https:\/\/mail\.acme\.com\/u\//)
    }
  })
}

const variants = [{ html: '<p>A</p>{{poll}}' }, { html: '<a href="{{poll_url:ok}}">B</a>' }]
const ab_test = { test_percentage: 100, variants }

t.test('recipients of every variant answer the same poll of a campaign', async t => {
  const { id, links } = await send(t, { html: '<p>x</p>', poll: POLL, ab_test })
  const [adas, bobs] = [links.get('ada@b.com') ?? [], links.get('bob@b.com') ?? []]
  t.strictSame(
    [adas.length, bobs.length].filter(length => length !== 1 && length !== 3),
    [],
  )
  t.equal((await press(adas[0] as string, 'ok')).status, 200)
  t.equal((await press(bobs[0] as string, 'great')).status, 200)

  const poll = await request('GET', `/polls/${id}`)
  shows(t, poll, {
    ...{
      campaign_id: id,
      email_id: null,
      subject: 'March',
      question: POLL.question,
      sent_count: 2,
      responses_count: 2,
    },
    responses: [
      { email: 'bob@b.com', contact_id: bob, answer: 'great' },
      { email: 'ada@b.com', contact_id: ada, answer: 'ok' },
    ],
  })
  const { rows } = await world.pool.pg.query('SELECT id FROM emails WHERE campaign_id = $1', [id])
  for (const { id: email_id } of rows) t.strictSame(await request('GET', `/polls/${email_id}`), poll)
  const { data } = (await request('GET', `/polls?campaign_id=${id}`)) as unknown as { data: object[] }
  shows(t, data, [{ id: poll.id, responses_count: 2 }])
  shows(
    t,
    await request('GET', `/campaigns/${id}/stats`),
    { clicked: 0, opened: 0 },
    'an answer counts neither as a click nor as an open',
  )
})

t.test('poll links in the html make the poll of a campaign', async t => {
  const html = '<p>Hi {{first_name|you}} <a href="{{poll_url:yes}}">Yes</a></p>'
  const { id, links } = await send(t, { html, subject: 'Coming, {{first_name|friend}}?' })
  t.equal(links.get('ada@b.com')?.length, 1)
  shows(t, await request('GET', `/polls/${id}`), {
    question: 'Coming, friend?',
    answers: [{ key: 'yes', label: 'yes', count: 0, percentage: 0 }],
  })
})

t.test('a draft keeps its poll; links to unknown options refuse sending', async t => {
  const id = await createDraft(api, account, { poll: POLL, html: '<a href="{{poll_url:nope}}">' })
  const options = [
    { key: 'great', label: 'Great' },
    { key: 'ok', label: 'OK' },
    { key: 'bad', label: 'Bad' },
  ]
  shows(t, await request('GET', `/campaigns/${id}`), { poll: { question: POLL.question, options } })
  shows(t, await request('GET', `/polls/${id}`), { name: 'not_found' })
  const refused = await api.request('POST', `/api/campaigns/${id}/send`, { body: {} })
  shows(t, refused, { status: 422, body: { name: 'validation_error' } })
  t.match(refused.body.message, /^The poll has no option for `{{poll_url:nope}}`/)
  const copy = await request('POST', `/campaigns/${id}/duplicate`, {})
  shows(t, copy, { poll: { options } })
  await request('PATCH', `/campaigns/${id}`, { poll: null, html: '<p>{{poll}}</p>' })
  shows(t, await request('GET', `/campaigns/${id}`), { poll: null })
  const { warnings } = (await request('POST', `/campaigns/${id}/send`, {})) as unknown as { warnings: string[] }
  t.match(warnings.join(' '), /has `{{poll}}`, and the campaign has no `poll`/)
})

t.test('a test email shows the poll and stores no answer', async t => {
  const id = await createDraft(api, account, { poll: POLL, ab_test })
  const { emails } = (await request('POST', `/campaigns/${id}/test`, { to: 'boss@b.com' })) as unknown as {
    emails: { id: string }[]
  }
  const inbox = await startInbox(t)
  const work = openWork(t, world, inbox.url)
  await deliverEmails(
    work,
    emails.map(({ id }) => id),
  )
  const [path = '', ...others] = (await linksOf(inbox)).get('boss@b.com') ?? []
  t.equal(others.length, 3, 'of both variants')
  const before = await readPollState(world, account)
  for (const response of [await fetch(api.url + path), await press(path, 'great')]) {
    t.equal(response.status, 200)
    t.match(await response.text(), /How did we do\?/)
  }
  t.match(await (await press(path, 'bad')).text(), /This is a test email: answers are not stored\./)
  t.strictSame(await readPollState(world, account), before)
  t.equal((await api.request('GET', `/api/polls/${emails[0]?.id}`)).status, 404)
})

t.test('erasing a contact removes its answers; removing the domain removes the poll', async t => {
  const own = await newAccount(world)
  const [eve = ''] = await addContacts(world, own, ['eve@b.com', 'kim@b.com'])
  const { id, links } = await send(t, { poll: POLL }, own)
  const [eves = '', kims = ''] = ['eve@b.com', 'kim@b.com'].map(address => links.get(address)?.[0])
  await press(eves, 'great')
  await press(kims, 'bad')
  await request('DELETE', `/contacts/${eve}?erase=true`, undefined, own.key)
  shows(t, await request('GET', `/polls/${id}`, undefined, own.key), {
    responses_count: 2,
    responses: [{ email: 'kim@b.com', answer: 'bad' }],
  })
  t.equal((await press(eves, 'bad')).status, 404)

  await world.pool.pg.query('DELETE FROM domains WHERE id = $1', [own.domain_id])
  await removeCampaignsOfDomain(world.pool, { account_id: own.id, id: own.domain_id })
  const { rows } = await world.pool.pg.query('SELECT FROM polls WHERE account_id = $1', [own.id])
  t.equal(rows.length, 0)
})

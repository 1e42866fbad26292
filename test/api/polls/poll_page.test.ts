import t from 'tap'
import { startApi } from '#test/support/api.ts'
import { makePolled, pollPath, readPollState } from '#test/support/polls.ts'
import { shows } from '#test/support/shows.ts'
import { makeTracked } from '#test/support/tracking.ts'
import { makeRecipient, readWebhookEvents } from '#test/support/unsubscribing.ts'
import { insertUnchecked } from '#test/support/webhooks/announced_events.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const other = await newAccount(world)
const api = await startApi(t, world, account.key)

const ask = (method: string, path: string, headers: Record<string, string> = {}) =>
  fetch(api.url + path, { method, headers, redirect: 'manual' })
const press = (path: string, answer?: string) =>
  fetch(api.url + path, { method: 'POST', body: new URLSearchParams(answer === undefined ? {} : { answer }) })
const read = async (path: string) => (await api.request('GET', `/api${path}`)).body
const rowsOf = async (email_id: string) => {
  const { rows } = await world.pool.pg.query(
    `SELECT a.option FROM poll_answers a JOIN deliveries d ON d.account_id = a.account_id AND d.id = a.delivery_id
     WHERE d.email_id = $1`,
    [email_id],
  )
  return rows
}
const countsOf = async (email_id: string) => {
  const { rows } = await world.pool.pg.query(
    `SELECT c.option, sum(c.count)::integer AS count FROM poll_counts c JOIN polls p ON p.id = c.poll_id
     WHERE p.email_id = $1 GROUP BY c.option HAVING sum(c.count) <> 0 ORDER BY c.option`,
    [email_id],
  )
  return rows
}

t.test('the page preselects the option of the link, and runs no script', async t => {
  const { deliveries } = await makePolled(world, account)
  const path = await pollPath(world, account, deliveries[0] as string, 'ok')
  const response = await ask('GET', path, { 'accept-language': 'fr' })
  const html = await response.text()
  t.equal(response.status, 200)
  t.match(html, /<html lang="fr">/)
  t.match(html, /<legend>How did we do\?<\/legend>/)
  t.strictSame(
    [...html.matchAll(/<input type="radio" name="answer" value="(\w+)" required( checked)?>/g)].map(found =>
      found.slice(1, 3),
    ),
    [
      ['great', undefined],
      ['ok', ' checked'],
      ['bad', undefined],
    ],
  )
  t.match(html, /<button>Envoyer la réponse<\/button>/)
  t.notMatch(html, /<script|onload|javascript:/i)
  t.match(response.headers.get('content-security-policy'), /^default-src 'none'; style-src 'sha256-/)
  t.equal(response.headers.get('cache-control'), 'no-store')
  t.equal(response.headers.get('referrer-policy'), 'no-referrer')
  t.strictSame(response.headers.getSetCookie(), [])
})

t.test('GET and HEAD of a poll change nothing, even 100 times', async t => {
  const own = await newAccount(world)
  await insertUnchecked(world, own.id, 'https://hooks.acme.com/x')
  const { path } = await makePolled(world, own)
  const before = await readPollState(world, own)
  for (let n = 0; n < 100; n++) {
    const response = await ask(n % 2 ? 'GET' : 'HEAD', path)
    t.equal(response.status, 200)
    await response.arrayBuffer()
  }
  t.strictSame(await readPollState(world, own), before)
})

t.test('the last answer counts, and webhooks get each change once', async t => {
  const own = await newAccount(world)
  await insertUnchecked(world, own.id, 'https://hooks.acme.com/x')
  const { body: contact } = await api.request('POST', '/api/contacts', { key: own.key, body: { email: 'Ann@b.com' } })
  const { path, email_id } = await makePolled(world, own, { to: ['Ann@B.com'] })
  const before = (await readWebhookEvents(world, own)).length
  t.match(await (await press(path, 'great')).text(), /<p>Thank you. Your answer is: <bdi>Great<\/bdi>.<\/p>/)
  const state = await readPollState(world, own)
  t.equal((await press(path, 'great')).status, 200)
  t.strictSame(await readPollState(world, own), state)
  t.match(
    await (await press(path, 'bad')).text(),
    /<p>Thank you. Your answer is: <bdi>Bad<\/bdi>.<\/p>.*<button>Change answer/s,
  )
  t.match(await (await ask('GET', path)).text(), /Your answer is: <bdi>Bad<\/bdi>.*value="great" required checked/s)

  const { data } = (await api.request('GET', '/api/polls', { key: own.key })).body as unknown as {
    data: { id: string }[]
  }
  const common = {
    poll_id: data[0]?.id,
    email_id,
    campaign_id: null,
    automation_id: null,
    contact_id: contact.id,
    email: 'Ann@b.com',
  }
  t.strictSame(
    (await readWebhookEvents(world, own)).slice(before).map(({ type, data }) => ({ type, data })),
    [
      { type: 'poll.answered', data: { ...common, answer: 'great', previous_answer: null } },
      { type: 'poll.answered', data: { ...common, answer: 'bad', previous_answer: 'great' } },
    ],
  )
  t.strictSame(await countsOf(email_id), [{ option: 'bad', count: 1 }])
  shows(t, (await api.request('GET', `/api/emails/${email_id}`, { key: own.key })).body, {
    last_event: 'queued',
    events: [],
  })
})

t.test('concurrent answers leave one row per recipient and exact counts', async t => {
  const { path, paths, email_id } = await makePolled(world, account, { to: ['a@b.com', 'b@b.com'] })
  const options = ['great', 'ok', 'bad', 'great', 'ok', 'bad', 'great', 'ok']
  const answers = await Promise.all([
    ...options.map(option => press(path, option)),
    ...options.map(option => press(paths[1] as string, option)),
  ])
  t.strictSame(new Set(answers.map(({ status }) => status)), new Set([200]))
  const rows = await rowsOf(email_id)
  t.equal(rows.length, 2)
  const expected = Map.groupBy(rows, ({ option }) => option)
  t.strictSame(
    new Map((await countsOf(email_id)).map(({ option, count }) => [option, count])),
    new Map([...expected].map(([option, rows]) => [option, rows.length] as const).sort()),
  )
  shows(t, await read(`/polls/${email_id}`), { responses_count: 2 })
})

const flip = (token: string, at: number) => {
  const bytes = Buffer.from(token, 'base64url')
  bytes[at < 0 ? bytes.length + at : at] = (bytes.at(at) as number) ^ 1
  return bytes.toString('base64url')
}

t.test('all invalid poll links get the same 404 page', async t => {
  const { path, deliveries } = await makePolled(world, account)
  const [delivery = ''] = deliveries
  const plain = await makeRecipient(world, account, 'x@b.com')
  const tracked = await makeTracked(world, account)
  const token = path.split('/')[2] as string
  const [clickToken = '', openToken = ''] = [tracked.click_paths[0]?.split('/').at(-1), tracked.open_path.slice(5, -4)]
  const bad = [
    '/p/',
    '/p/x/great',
    `/p/${token}`,
    `/p/${token}/`,
    `/p/${token}/unknown`,
    `/p/${token}/great/x`,
    `/p/${token}=/great`,
    `/p/${token.slice(0, -1)}/great`,
    `/p/${clickToken}/great`,
    `/p/${openToken}/great`,
    ...[0, 1, 2, 5, 30, -10, -1].map(at => `/p/${flip(token, at)}/great`),
    `/p/${plain.path.slice(3)}/great`,
    await pollPath(world, account, plain.delivery_id),
    await pollPath(world, other, delivery),
  ]
  const wanted = await (await ask('GET', '/p/x')).text()
  const state = await readPollState(world, account)
  for (const path of bad) {
    for (const method of ['GET', 'POST', 'HEAD']) {
      const response = await ask(method, path)
      t.equal(response.status, 404, `${method} ${path}`)
      if (method !== 'HEAD') t.equal(await response.text(), wanted, `${method} ${path}`)
    }
  }
  for (const path of [
    `/t/o/${token}.gif`,
    `/u/${token}`,
    tracked.click_paths[0]?.replace(clickToken, token) as string,
  ]) {
    await ask('GET', path)
  }
  t.strictSame(await readPollState(world, account), state, 'the token of a poll is invalid for other uses')
})

t.test('a missing or invalid answer is 400 and shows the page again', async t => {
  const { path, email_id } = await makePolled(world, account)
  for (const answer of [undefined, '', 'unknown', 'Great', '__proto__']) {
    const response = await press(path, answer)
    t.equal(response.status, 400, String(answer))
    t.match(await response.text(), /How did we do/)
  }
  t.strictSame(await rowsOf(email_id), [])
})

t.test('questions and labels are escaped', async t => {
  const hostile = `<script>alert("1")</script>&amp;'`
  const poll = { question: `Why ${hostile}`, options: [hostile, { key: 'b', label: '<img src=x onerror=1>' }] }
  const { deliveries } = await makePolled(world, account, { poll })
  const path = await pollPath(world, account, deliveries[0] as string, 'b')
  const html = await (await press(path, 'b')).text()
  const escaped = '&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;amp;&#39;'
  t.ok(html.includes(`<legend>Why ${escaped}</legend>`))
  t.ok(html.includes(`<title>Why ${escaped}</title>`))
  t.ok(html.includes('Your answer is: <bdi>&lt;img src=x onerror=1&gt;</bdi>.'))
  t.notMatch(html, /<script|<img/)
})

t.test('a poll is gone with its email or its domain', async t => {
  const own = await newAccount(world)
  const forgotten = await makePolled(world, own)
  const kept = await makePolled(world, own)
  await press(forgotten.path, 'great')
  await world.pool.pg.query(`UPDATE deliveries SET state = 'delivered', next_at = NULL WHERE email_id = $1`, [
    forgotten.email_id,
  ])
  await world.pool.pg.query('SELECT forget_settled_emails($1, $2)', [own.id, [forgotten.email_id]])
  t.equal((await press(forgotten.path, 'bad')).status, 404)
  t.equal((await api.request('GET', `/api/polls/${forgotten.email_id}`, { key: own.key })).status, 404)

  t.equal((await press(kept.path, 'ok')).status, 200)
  await world.pool.pg.query('DELETE FROM domains WHERE id = $1', [own.domain_id])
  t.equal((await press(kept.path, 'bad')).status, 404)
})

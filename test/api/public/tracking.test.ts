import t from 'tap'
import { createReadTokenKeys } from '#flows/process/token_keys.ts'
import { writeLinkToken } from '#lib/tracking/tracking_tokens.ts'
import { startApi } from '#test/support/api.ts'
import { acceptEmail } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { BROWSER, makeTracked, readHits, waitForHits } from '#test/support/tracking.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)

const ask = (path: string, { method = 'GET', ...headers }: Record<string, string> = {}) =>
  fetch(api.url + path, { method, headers: { 'user-agent': BROWSER, ...headers }, redirect: 'manual' })
const emailOf = async (id: string) =>
  (await api.request('GET', `/api/emails/${id}`)).body as unknown as Record<string, unknown>

t.test('the pixel and a link respond and record an open and a click', async t => {
  const email = await makeTracked(world, account)
  const pixel = await ask(email.open_path)
  const bytes = Buffer.from(await pixel.arrayBuffer())
  shows(
    t,
    {
      status: pixel.status,
      type: pixel.headers.get('content-type'),
      size: bytes.length,
      start: bytes.toString('latin1', 0, 6),
    },
    { status: 200, type: 'image/gif', size: 43, start: 'GIF89a' },
  )
  t.equal(pixel.headers.get('cache-control'), 'no-store')

  const redirect = await ask(email.click_paths[1] as string)
  shows(
    t,
    {
      status: redirect.status,
      location: redirect.headers.get('location'),
      cache: redirect.headers.get('cache-control'),
      referrer: redirect.headers.get('referrer-policy'),
      cookies: redirect.headers.getSetCookie(),
    },
    {
      status: 302,
      location: 'https://acme.com/page?n=1&%C3%A9',
      cache: 'no-store',
      referrer: 'no-referrer-when-downgrade',
      cookies: [],
    },
  )
  shows(t, await waitForHits(world, email, 2), [
    { type: 'open', class: 'human', rule: 'default', link: null },
    { type: 'click', class: 'human', rule: 'default', link: 1 },
  ])
  shows(t, await emailOf(email.email_id), {
    status: 'delivered',
    last_event: 'clicked',
    events: [
      { type: 'delivered', recipient: email.recipient },
      { type: 'opened', recipient: email.recipient, class: 'human' },
      { type: 'clicked', recipient: email.recipient, class: 'human', link: email.urls[1] },
    ],
  })
  const { body: clicked } = await api.request('GET', '/api/emails?status=clicked')
  shows(t, clicked.data, [{ id: email.email_id, last_event: 'clicked' }])
})

t.test('invalid tracking tokens are 404 and record nothing', async t => {
  const email = await makeTracked(world, account)
  const other = await makeTracked(world, account)
  const keys = await createReadTokenKeys(world)()
  const [, , , link = '', click = ''] = (email.click_paths[0] as string).split('/')
  const open = email.open_path.slice('/t/o/'.length, -'.gif'.length)
  const script = writeLinkToken({ source_id: email.email_id, link: 0, url: 'javascript:alert(1)' }, keys)
  const flip = (token: string, at: number) => {
    const bytes = Buffer.from(token, 'base64url')
    bytes[at < 0 ? bytes.length + at : at] = (bytes.at(at) as number) ^ 1
    return bytes.toString('base64url')
  }
  const bad = [
    ...['/t/o/.gif', '/t/o/x.gif', '/t/', '/t/c/', '/t/x/y', `/t/o/${open}`, `/t/o/${click}.gif`, `/t/o/${link}.gif`],
    ...[0, 1, 2, 5, 30, -1].flatMap(at => [`/t/o/${flip(open, at)}.gif`, `/t/c/${flip(link, at)}/${click}`]),
    ...[
      `/t/c/${click}/${link}`,
      `/t/c/${open}/${click}`,
      `/t/c/${link}`,
      `/t/c/${script}/${click}`,
      `/t/c/${link}==/${click}`,
    ],
    ...[`/t/c/https:%2F%2Fevil.com/${click}`, `/t/c/${link}/${click}/more`, `/t/o/${open}.gif.gif`],
  ]
  const pages = new Set<string>()
  for (const path of bad) {
    const response = await ask(path)
    t.equal(response.status, 404)
    t.equal(response.headers.get('location'), null)
    pages.add(await response.text())
  }
  t.equal(pages.size, 1, 'the same bytes for all kinds')
  t.equal(await (await ask('/u/x')).text(), [...pages][0], 'and as those of a bad link to unsubscribe')

  // The link token is ours: it redirects with any recipient token, but records nothing for an invalid one.
  const foreign = (other.click_paths[0] as string).split('/')[3]
  for (const recipient of ['', 'x', open, flip(click, 5), flip(click, -1)]) {
    const response = await ask(`/t/c/${link}/${recipient}`)
    t.equal(response.headers.get('location'), 'https://acme.com/page?n=0&%C3%A9')
  }
  t.equal((await ask(`/t/c/${foreign}/${click}`)).status, 302, 'a link of another email')
  await ask(other.open_path)
  await waitForHits(world, other, 1)
  t.strictSame(await readHits(world, email), [])
})

t.test('hits of a contact who asks later not to be tracked are not recorded', async t => {
  const [email, other] = [await makeTracked(world, account, { to: 'Quiet@b.com' }), await makeTracked(world, account)]
  await ask(email.open_path)
  await waitForHits(world, email, 1)
  await api.request('POST', '/api/contacts', { body: { email: 'quiet@b.com', do_not_track: true } })
  await ask(email.open_path)
  shows(t, await ask(email.click_paths[1] as string), { status: 302 }, 'its links still lead on')
  await ask(other.open_path)
  await waitForHits(world, other, 1)
  shows(t, await readHits(world, email), [{ type: 'open' }])
})

t.test('`do_not_track` survives the deletion of a contact', async t => {
  const own = await newAccount(world)
  const call = async (method: string, path: string, body?: object) =>
    (await api.request(method, `/api${path}`, { key: own.key, body })).body
  const email = 'kept@b.com'
  await call('POST', '/contacts', { email, do_not_track: true })
  await call('DELETE', `/contacts/${email}`)
  const mail = await makeTracked(world, own, { to: email })
  const sent = await acceptEmail(world, own, { to: 'Kept@b.com', html: '<p>x</p>', track_opens: true })
  const other = await acceptEmail(world, own, { to: 'other@b.com', html: '<p>x</p>', track_opens: true })
  const trackingOf = async (id: string) =>
    (await world.pool.pg.query('SELECT tracking FROM email_contents WHERE email_id = $1', [id])).rows[0].tracking
  t.strictSame([await trackingOf(sent), await trackingOf(other)], [null, 1])
  await ask(mail.open_path)
  const last = await makeTracked(world, own)
  await ask(last.open_path)
  await waitForHits(world, last, 1)
  t.strictSame(await readHits(world, mail), [])

  const created = await call('POST', '/contacts', { email, unsubscribed: false })
  shows(t, created, { do_not_track: true })
  await call('DELETE', `/contacts/${email}`)
  shows(t, await call('POST', '/contacts', { email, do_not_track: false }), { do_not_track: false })
})

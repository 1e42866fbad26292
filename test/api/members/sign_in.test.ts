import t from 'tap'
import { createInvitation, createResetLink, followLink, openLink } from '#flows/members/member_links.ts'
import { NewInvitation } from '#lib/members/new_member.ts'
import { findLogin, setPassword } from '#sql/members/members.ts'
import { deleteSessions, listSessions } from '#sql/members/sessions.ts'
import { startApi } from '#test/support/api.ts'
import { begin, untilBlocked } from '#test/support/database/locks.ts'
import { newMember, PASSWORD } from '#test/support/members.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t, { TRUSTED_PROXIES: '127.0.0.0/8' })
const account = await newAccount(world)
const [api, other] = [await startApi(t, world, account.key), await startApi(t, world, account.key)]

/** Posts the sign-in form. `client`: its address, as a proxy reports it. */
function postSignIn(email: string, password = PASSWORD, { url } = api, client = '192.0.2.1'): Promise<Response> {
  const headers = { 'sec-fetch-site': 'same-origin', 'x-forwarded-for': client }
  const body = new URLSearchParams({ email, password })
  return fetch(`${url}/login`, { method: 'POST', headers, body, redirect: 'manual' })
}

const signIn = async (...form: Parameters<typeof postSignIn>) => (await postSignIn(...form)).status

t.test('sign-in allows five wrong passwords per minute, and any number of right ones', async t => {
  const { email } = await newMember(world, account.id, 'owner')
  const statuses: number[] = []
  for (let n = 0; n < 8; n++) statuses.push(await signIn(email, PASSWORD, n % 2 ? api : other))
  t.strictSame(statuses, Array(8).fill(303))

  const mixed: number[] = []
  for (let n = 0; n < 4; n++) mixed.push(await signIn(email, 'wrong'), await signIn(email))
  t.strictSame(mixed, [422, 303, 422, 303, 422, 303, 422, 303], 'a successful sign-in does not reset the failures')
  t.strictSame(
    [await signIn(email, 'wrong'), await signIn(email), await signIn(email, PASSWORD, other)],
    [422, 429, 429],
  )
})

t.test('sign-in checks only five of many concurrent wrong passwords', async t => {
  const { email } = await newMember(world, account.id, 'owner')
  const statuses = await Promise.all(Array.from({ length: 20 }, (_, n) => signIn(email, 'wrong', n % 2 ? api : other)))
  t.strictSame(statuses.toSorted(), [...Array(5).fill(422), ...Array(15).fill(429)])
})

t.test('wrong passwords are counted per address, and per /64 network for IPv6', async t => {
  const { email } = await newMember(world, account.id, 'owner')
  for (let n = 0; n < 5; n++) t.equal(await signIn(email, 'wrong', api, `2001:db8::${n}`), 422)
  t.equal(await signIn(email, 'wrong', api, '2001:db8::ffff'), 429)
  t.equal(await signIn(email, PASSWORD, api, '2001:db8:0:1::'), 303, 'another network')
})

t.test('a flood of tries from one network, each with another address, delays no member of another network', async t => {
  const { email } = await newMember(world, account.id, 'owner')
  let done = 0
  const flood = Array.from({ length: 60 }, async (_, n) => {
    const status = await signIn(`nobody-${n}@flood.com`, 'wrong', api, '198.51.100.1')
    done++
    return status
  })
  await Promise.race(flood)
  t.equal(await signIn(email, PASSWORD, api, '198.51.100.2'), 303)
  t.ok(done < 30, `${done} of 60 tries were checked first`)
  for (const status of await Promise.all(flood)) t.ok(status === 422 || status === 429, `status ${status}`)
})

t.test('a passkey that is unknown, or no passkey at all, is refused', async t => {
  const headers = { 'sec-fetch-site': 'same-origin' }
  for (const credential of ['', 'null', '{"id":"unknown"}', '{"id":"\\u0000"}']) {
    const body = new URLSearchParams({ credential })
    const { status } = await fetch(`${api.url}/login/passkey`, { method: 'POST', headers, body })
    t.equal(status, 422, credential)
  }
})

t.test('a form of a page at another address than BASE_URL is rejected, and the reason names both', async t => {
  const send = async (headers: Record<string, string>) => {
    const response = await fetch(`${api.url}/login`, { method: 'POST', headers, body: new URLSearchParams() })
    return { status: response.status, text: await response.text() }
  }
  const { origin } = new URL(api.url)
  const base = new URL(world.config.BASE_URL).origin
  const told = new RegExp(`only at \`BASE_URL\`, which is ${base}: open that address, or set it to ${origin}\\.`)
  t.match(await send({ origin }), { status: 403, text: told })
  t.match(await send({ origin: 'http://evil.com' }), { status: 403, text: /pages of other sites/ })
  t.match(await send({ origin, 'sec-fetch-site': 'cross-site' }), { status: 403 })
})

t.test('a member signs in with the address as it was given in the invitation', async t => {
  const given = 'Bob@BÜCHER.de'
  const { email, role } = NewInvitation.parse({ email: given, role: 'admin' })
  const invitation = { account_id: account.id, email, role, invited_by: null }
  const url = await createInvitation(world.pool, world, invitation)
  const link = await openLink(world, url.split('/').at(-1) as string)
  await followLink(world, link, { name: 'Bob', password: PASSWORD })
  for (const address of [given, 'bob@bücher.de', 'bob@xn--bcher-kva.de']) t.equal(await signIn(address), 303, address)
})

/** Begins to set a new password, as a reset link does, which ends all sessions. */
function beginReset(id: string) {
  return begin(world, async tx => {
    await setPassword(tx, id, 'the hash of a new one')
    await deleteSessions(tx, id, null)
  })
}

t.test('sign-in with the old password fails while a new one is being set', async t => {
  const { id, email } = await newMember(world, account.id, 'owner')
  const reset = await beginReset(id)
  const signing = signIn(email)
  await untilBlocked(world, '%INSERT INTO sessions%')
  await reset.commit()
  t.equal(await signing, 422)
  t.strictSame(await listSessions(world.pool, id), [])
})

/** Signs in; returns functions that open the profile and change the password, and return the status. */
async function openProfile(email: string) {
  const [cookie = ''] = (await postSignIn(email)).headers.getSetCookie()
  const headers = { cookie: cookie.split(';')[0] ?? '', accept: 'text/html', 'sec-fetch-site': 'same-origin' }
  const ask = async (path: string, options: object) =>
    (await fetch(api.url + path, { headers, redirect: 'manual', ...options })).status
  return {
    show: () => ask('/profile', {}),
    change: (old_password: string) =>
      ask('/profile/password', {
        method: 'POST',
        body: new URLSearchParams({ old_password, password: 'another password' }),
      }),
  }
}

t.test('a session that a reset of the password ends does not replace the new password', async t => {
  const { id, email } = await newMember(world, account.id, 'owner')
  const { change } = await openProfile(email)
  const reset = await beginReset(id)
  const changing = change(PASSWORD)
  await untilBlocked(world, '%UPDATE members SET password%')
  await reset.commit()
  t.equal(await changing, 422)
  t.equal((await findLogin(world.pool, email))?.password, 'the hash of a new one')
})

t.test('a session allows five wrong old passwords per minute', async t => {
  const { email } = await newMember(world, account.id, 'owner')
  const { change } = await openProfile(email)
  const statuses: number[] = []
  for (let n = 0; n < 5; n++) statuses.push(await change('wrong'))
  t.strictSame(statuses, Array(5).fill(422))
  t.equal(await change(PASSWORD), 429)
  t.equal(await signIn(email), 303, 'signing in is counted apart')
})

t.test('a link to choose a new password no longer works once the password was changed', async t => {
  const { id, email } = await newMember(world, account.id, 'owner')
  const token = (await createResetLink(world, email)).split('/').at(-1) as string
  await openLink(world, token)
  await setPassword(world.pool, id, 'the hash of a new one')
  await t.rejects(openLink(world, token), { name: 'not_found' })
})

t.test('the cookie of a session is hidden from scripts, and over https limited to this host', async t => {
  const { email } = await newMember(world, account.id, 'owner')
  const config = { ...world.config, BASE_URL: 'https://mail.acme.com' }
  const secure = await startApi(t, { ...world, config }, account.key)
  const cookieOf = async ({ url }: typeof api) => {
    const [cookie = ''] = (await postSignIn(email, PASSWORD, { ...api, url })).headers.getSetCookie()
    return cookie.replace(/=[\w-]{43};/, '=TOKEN;').replace(/expires=[^;]*/, 'expires=TIME')
  }
  t.equal(await cookieOf(api), 'mailbrook=TOKEN; path=/; expires=TIME; samesite=lax; httponly')
  t.equal(await cookieOf(secure), '__Host-mailbrook=TOKEN; path=/; expires=TIME; samesite=lax; secure; httponly')
})

t.test('a member who changes the password stays signed in, and nowhere else', async t => {
  const { id, email } = await newMember(world, account.id, 'owner')
  const [here, elsewhere] = [await openProfile(email), await openProfile(email)]
  t.equal(await here.change(PASSWORD), 303)
  t.strictSame([await here.show(), await elsewhere.show()], [200, 303])
  t.equal((await listSessions(world.pool, id)).length, 1)
})

t.test('a link to choose a new password ends all sessions of its member', async t => {
  const { id, email } = await newMember(world, account.id, 'owner')
  t.equal(await signIn(email), 303)
  const token = (await createResetLink(world, email)).split('/').at(-1) as string
  await followLink(world, await openLink(world, token), { name: '', password: 'another password' })
  t.strictSame(await listSessions(world.pool, id), [])
  t.strictSame([await signIn(email), await signIn(email, 'another password')], [422, 303])
})

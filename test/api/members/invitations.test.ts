import { readFile } from 'node:fs/promises'
import t from 'tap'
import { createInvitation, createResetLink, openLink } from '#flows/members/member_links.ts'
import { newId } from '#lib/ids.ts'
import { createLog } from '#lib/log.ts'
import { takeMemberLink } from '#sql/members/member_links.ts'
import { insertMember, saveMembership } from '#sql/members/members.ts'
import { startApi, startProxiedApi } from '#test/support/api.ts'
import { begin, untilBlocked } from '#test/support/database/locks.ts'
import { newMember, PASSWORD, sessionOf } from '#test/support/members.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const owner = await newMember(world, account.id, 'owner')
const admin = await newMember(world, account.id, 'admin')
const viewer = await newMember(world, account.id, 'view_only')

const headersOf = async ({ id }: { id: string }) => ({
  cookie: `mailbrook=${await sessionOf(world, id)}`,
  'sec-fetch-site': 'same-origin',
})
const askAs = async (member: { id: string }, method: string, path: string, body?: unknown) =>
  api.request(method, `/api${path}`, { key: null, headers: await headersOf(member), body })

/** Submits the form of a link, as a member or as nobody; returns the status. */
async function follow(url: string, fields: Record<string, string>, member?: { id: string }): Promise<number> {
  const headers = member ? await headersOf(member) : { 'sec-fetch-site': 'same-origin' }
  const path = new URL(url).pathname
  return (
    await fetch(api.url + path, { method: 'POST', headers, body: new URLSearchParams(fields), redirect: 'manual' })
  ).status
}

t.test('the request log hides the link of an invitation', async t => {
  const made = (await askAs(owner, 'POST', '/members', { email: 'boss@acme.com', role: 'owner' })).body
  const list = () => askAs(viewer, 'GET', '/logs?endpoint=/members')
  await waitUntil(async () => (await list()).body.data.length > 0, 'the request is in the log')
  const log = await askAs(viewer, 'GET', `/logs/${(await list()).body.data[0]?.id}`)
  const { url } = made as unknown as { url: string }
  t.match(log.text, '/join/[redacted]')
  t.notMatch(log.text, url)
})

t.test('a migration deletes logged invitations with a link', async t => {
  const other = await newAccount(world)
  const url = `https://mail.acme.com/join/${'x-_A'.repeat(11).slice(1)}`
  const insert = (endpoint: string, response: object) =>
    world.pool.pg.query(
      `INSERT INTO logs (account_id, created_at, method, endpoint, response_status, user_agent, response_body)
       VALUES ($1, now(), 'POST', $2, 201, 'test', $3)`,
      [other.id, endpoint, response],
    )
  for (const endpoint of ['/members', '/Members/']) await insert(endpoint, { object: 'invitation', url })
  await insert('/members', { object: 'invitation', url: 'https://mail.acme.com/join/[redacted]' })
  await insert('/emails', { id: '1' })
  const migration = new URL('../../../sql/migrations/0065_logged_invitations.sql', import.meta.url)
  await world.pool.pg.query(await readFile(migration, 'utf8'))
  const { rows } = await world.pool.pg.query('SELECT endpoint FROM logs WHERE account_id = $1 ORDER BY id', [other.id])
  t.same(rows, [{ endpoint: '/members' }, { endpoint: '/emails' }])
})

t.test('a member who was removed from the only account can be invited again', async t => {
  const gone = await newMember(world, account.id, 'admin')
  t.equal((await askAs(owner, 'DELETE', `/members/${gone.id}`)).status, 200)
  const invitation = { account_id: account.id, email: gone.email, role: 'view_only', invited_by: null } as const
  const url = await createInvitation(world.pool, world, invitation)
  t.equal(await follow(url, { name: 'Back', password: PASSWORD }), 303)
  const { data } = (await askAs(owner, 'GET', '/members')).body
  t.match(data[0], { email: gone.email, role: 'view_only' })
})

t.test('a person who becomes a member while following an invitation is told to sign in', async t => {
  const email = 'twice@b.com'
  const invitation = { account_id: account.id, email, role: 'admin', invited_by: null } as const
  const url = await createInvitation(world.pool, world, invitation)
  const elsewhere = await begin(world, tx =>
    insertMember(tx, { id: newId(), email, name: 'Ann', password: null, is_operator: false }),
  )
  const following = follow(url, { name: 'Ann', password: PASSWORD })
  await untilBlocked(world, '%INSERT INTO members%')
  await elsewhere.commit()
  t.equal(await following, 422)
})

t.test('a member of the account is not invited again', async t => {
  const { status, body } = await askAs(owner, 'POST', '/members', { email: viewer.email.toUpperCase(), role: 'admin' })
  t.equal(status, 422)
  t.match(body, { name: 'validation_error', message: `${viewer.email} already belongs to this account.` })
})

t.test('removing a member revokes invitations of and by the member', async t => {
  const gone = await newMember(world, (await newAccount(world)).id, 'admin')
  const invite = async (by: { id: string }, email: string) =>
    (await askAs(by, 'POST', '/members', { email, role: 'admin' })).body as unknown as { url: string }
  const back = await invite(owner, gone.email)
  await world.pool.transaction(tx => saveMembership(tx, account.id, gone.id, 'admin'))
  const second = await invite(gone, 'second@acme.com')
  const other = await invite(owner, 'other@acme.com')
  t.equal((await askAs(owner, 'DELETE', `/members/${gone.id}`)).status, 200)
  const statuses: number[] = []
  for (const { url } of [back, second, other]) statuses.push(await follow(url, { name: 'Back', password: PASSWORD }))
  t.strictSame(statuses, [404, 404, 303])
})

t.test('an invitation adds only the member that it is for, once', async t => {
  const other = await newAccount(world)
  const [invited, thief] = [await newMember(world, other.id, 'owner'), await newMember(world, other.id, 'owner')]
  const made = (await askAs(owner, 'POST', '/members', { email: invited.email, role: 'admin' })).body
  const { url } = made as unknown as { url: string }
  t.equal(await follow(url, { accept: '1' }, thief), 422)
  t.equal(await follow(url, { accept: '1' }, invited), 303)
  t.equal(await follow(url, { accept: '1' }, invited), 404)
  const { data } = (await askAs(owner, 'GET', '/members')).body
  t.strictSame(
    data.filter(({ id }) => [invited.id, thief.id].includes(id)).map(({ id }) => id),
    [invited.id],
  )
  const reset = await createResetLink(world, invited.email)
  t.equal(await follow(reset, { accept: '1' }, invited), 422, 'a link to choose a password is no invitation')
})

t.test('a link that somebody else uses up or that expires meanwhile does nothing', async t => {
  const member = await newMember(world, (await newAccount(world)).id, 'owner')
  const { email } = member
  const invite = () =>
    createInvitation(world.pool, world, { account_id: account.id, email, role: 'owner', invited_by: null })
  const links: [url: string, fields: Record<string, string>][] = [
    [await createResetLink(world, email), { password: 'another password' }],
    [await invite(), { accept: '1' }],
  ]
  for (const [url, fields] of links) {
    const { id } = await openLink(world, url.split('/').at(-1) as string)
    const used = await begin(world, tx => takeMemberLink(tx, id))
    const following = follow(url, fields, member)
    await untilBlocked(world, '%DELETE FROM member_links%')
    await used.commit()
    t.equal(await following, 404)
  }
  const late = await invite()
  await world.pool.pg.query('UPDATE member_links SET expires_at = now() WHERE email = $1', [email])
  t.equal((await fetch(api.url + new URL(late).pathname)).status, 404)
  t.equal(await follow(late, { accept: '1' }, member), 404)
  t.notOk((await askAs(owner, 'GET', '/members')).body.data.some(({ id }) => id === member.id))
})

t.test('an account neither replaces nor revokes invitations to another', async t => {
  const other = await newAccount(world)
  const gone = await newMember(world, account.id, 'admin')
  const invite = async (account_id: string, email: string, invited_by: string | null = null) => {
    const url = await createInvitation(world.pool, world, { account_id, email, role: 'admin', invited_by })
    return { path: new URL(url).pathname, id: (await openLink(world, url.split('/').at(-1) as string)).id }
  }
  const [theirs, byGone] = [await invite(other.id, 'both@b.com'), await invite(other.id, 'x@b.com', gone.email)]
  const ours = await invite(account.id, 'both@b.com')
  await askAs(owner, 'DELETE', `/members/${gone.id}`)
  const revoke = async ({ id }: { id: string }) => {
    const headers = { ...(await headersOf(owner)), accept: 'text/html' }
    const path = `${api.url}/members/invitations/${id}/delete`
    return (await fetch(path, { method: 'POST', headers, body: new URLSearchParams(), redirect: 'manual' })).status
  }
  t.strictSame([await revoke(theirs), await revoke(ours)], [404, 303])
  const statuses: number[] = []
  for (const { path } of [theirs, byGone, ours]) statuses.push((await fetch(api.url + path)).status)
  t.strictSame(statuses, [200, 200, 404])
})

t.test('an invitation does not change the role of a member, such as the last owner', async t => {
  const joined = await newMember(world, (await newAccount(world)).id, 'owner')
  const made = (await askAs(admin, 'POST', '/members', { email: joined.email, role: 'view_only' })).body
  await world.pool.transaction(tx => saveMembership(tx, account.id, joined.id, 'owner'))
  t.equal(await follow((made as unknown as { url: string }).url, { accept: '1' }, joined), 422)
  const { data } = (await askAs(owner, 'GET', '/members')).body
  t.match(
    data.find(({ id }) => id === joined.id),
    { role: 'owner' },
  )
  t.equal((await askAs(owner, 'PATCH', `/members/${admin.id}`, { role: 'admin' })).status, 200)
})

t.test('concurrent changes of an API key are all kept', async t => {
  for (let n = 0; n < 20; n++) {
    const { id } = (await askAs(owner, 'POST', '/api-keys', { name: 'key' })).body
    await Promise.all([
      askAs(owner, 'PATCH', `/api-keys/${id}`, { permission: 'sending_access' }),
      askAs(owner, 'PATCH', `/api-keys/${id}`, { name: 'renamed' }),
    ])
    const { data } = (await askAs(owner, 'GET', '/api-keys')).body
    t.match(
      data.find(key => key.id === id),
      { name: 'renamed', permission: 'sending_access' },
    )
  }
})

t.test('the log of the server hides the link of an invitation that could not be opened', async t => {
  const lines: string[] = []
  const log = createLog('trace', { write: line => void lines.push(line) })
  const { api, proxy } = await startProxiedApi(t, { ...world, log }, account.key)
  await proxy.close()
  const token = 'x-_A'.repeat(11).slice(1)
  for (const path of [`/join/${token}`, `//JOIN/${token}/`]) {
    t.equal((await fetch(api.url + path)).status, 500)
    t.equal((await fetch(api.url + path, { method: 'POST', headers: { 'sec-fetch-site': 'same-origin' } })).status, 500)
  }
  t.match(lines.join(''), '"path":"/join/[redacted]"')
  t.notMatch(lines.join(''), token)
})

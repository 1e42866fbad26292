import t from 'tap'
import { startApi } from '#test/support/api.ts'
import { Imports } from '#test/support/contacts/imports.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const imports = new Imports(api, account.key, openWork(t, world).importer)

const post = (path: string, body: object) => api.request('POST', `/api${path}`, { body })
const get = async (path: string) => (await api.request('GET', `/api${path}`)).body

t.test('an opt-out of an address repeated in a batch wins, wherever it stands', async t => {
  const contacts = [
    { email: 'ann@b.com', unsubscribed: true, do_not_track: true },
    { email: 'Ann@b.com', first_name: 'Ann' },
    { email: 'bob@b.com', unsubscribed: true },
    { email: 'bob@b.com', unsubscribed: false },
    { email: 'carl@b.com' },
    { email: 'carl@b.com', unsubscribed: true },
    { email: 'carl@b.com', last_name: 'C' },
  ]
  shows(t, (await post('/contacts/batch', { contacts })).body, { created: 3, skipped: 4 })
  shows(t, await get('/contacts/ann@b.com'), { unsubscribed: true, do_not_track: true, first_name: 'Ann' })
  shows(t, await get('/contacts/bob@b.com'), { unsubscribed: true })
  shows(t, await get('/contacts/carl@b.com'), { unsubscribed: true, last_name: 'C' })
  await post('/contacts/batch', { contacts, resubscribe: true })
  shows(t, await get('/contacts/ann@b.com'), { unsubscribed: true })
  shows(t, await get('/contacts/bob@b.com'), { unsubscribed: false }, 'taken back by the one that wins')
})

t.test('an opt-in of an earlier repetition in a batch changes nothing', async t => {
  await post('/contacts', { email: 'ann@f.com', do_not_track: true })
  const contacts = [
    { email: 'ann@f.com', do_not_track: false },
    { email: 'ann@f.com', first_name: 'Ann' },
    { email: 'bob@f.com', unsubscribed: true, do_not_track: true },
    { email: 'bob@f.com', unsubscribed: false, do_not_track: false },
    { email: 'bob@f.com', first_name: 'Bob' },
  ]
  await post('/contacts/batch', { contacts, resubscribe: true })
  shows(t, await get('/contacts/ann@f.com'), { do_not_track: true, first_name: 'Ann' })
  shows(t, await get('/contacts/bob@f.com'), { unsubscribed: true, do_not_track: true, first_name: 'Bob' })
})

t.test('an opt-out of an address repeated in a file wins, wherever it stands', async t => {
  await post('/contacts', { email: 'old@c.com', first_name: 'Old' })
  const others = Array.from({ length: 700 }, (_, n) => `x${n}@c.com,X,`)
  const lines = [
    'email,first_name,unsubscribed',
    ...['near@c.com,Near,false', 'near@c.com,Other,true', 'far@c.com,Far,', 'old@c.com,,', 'stays@c.com,,true'],
    ...['stays@c.com,,false', ...others, 'far@c.com,Other,true', 'old@c.com,Older,yes', 'far@c.com,,true'],
  ]
  const csv = lines.join('\n')
  shows(t, await imports.ofText(csv, { on_conflict: 'skip' }), {
    counts: { total: 709, created: 703, updated: 0, skipped: 6, failed: 0 },
  })
  shows(t, await get('/contacts/near@c.com'), { first_name: 'Near', unsubscribed: true })
  shows(t, await get('/contacts/far@c.com'), {
    first_name: 'Far',
    unsubscribed: true,
    consents: [{ subscription: 'opt_out', how: 'import' }],
  })
  shows(t, await get('/contacts/stays@c.com'), { unsubscribed: true })
  shows(t, await get('/contacts/old@c.com'), { first_name: 'Old', unsubscribed: false }, 'skipped, as it asks')
  shows(t, await imports.ofText(csv), { counts: { total: 709, updated: 704, skipped: 5, failed: 0 } })
  shows(t, await get('/contacts/old@c.com'), { first_name: 'Old', unsubscribed: true })
  await imports.ofText(csv, { resubscribe: true })
  shows(t, await get('/contacts/near@c.com'), { unsubscribed: false }, 'taken back by the one that wins')
})

t.test('`do_not_track` of an address repeated in a file applies, unless its first record says otherwise', async t => {
  await post('/contacts', { email: 'old@e.com' })
  const csv =
    'email,do_not_track\nann@e.com,\nann@e.com,true\nbob@e.com,false\nbob@e.com,true\nold@e.com,\nold@e.com,yes\n'
  const are = async () => {
    const contacts = await Promise.all(['ann', 'bob', 'old'].map(name => get(`/contacts/${name}@e.com`)))
    return contacts.map(contact => Object(contact).do_not_track)
  }
  await imports.ofText(csv, { on_conflict: 'skip' })
  t.strictSame(await are(), [true, false, false])
  await imports.ofText(csv)
  t.strictSame(await are(), [true, false, true])
})

t.test('the stronger reason and later expiry of a repeated suppression win', async t => {
  const csv = [
    'email,reason,expires_at',
    'ann@d.com,bounce,2100-01-01T00:00:00Z',
    'Ann@d.com,complaint,2099-01-01T00:00:00Z',
    'bob@d.com,manual,2100-01-01T00:00:00Z',
    'bob@d.com,import,',
  ].join('\n')
  shows(t, (await post('/suppressions/import', { csv })).body, { created: 2, updated: 2, failed: 0 })
  shows(t, await get('/suppressions/ann@d.com'), { reason: 'complaint', expires_at: '2100-01-01T00:00:00.000Z' })
  shows(t, await get('/suppressions/bob@d.com'), { reason: 'manual', expires_at: null })
})

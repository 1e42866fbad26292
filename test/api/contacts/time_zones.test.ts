import t from 'tap'
import { startApi } from '#test/support/api.ts'
import { Imports } from '#test/support/contacts/imports.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const ask = async (method: string, path: string, body?: object) =>
  api.request(method, `/api/contacts${path}`, body === undefined ? {} : { body })
const zoneOf = async (email: string) => Object((await ask('GET', `/${email}`)).body).timezone
const WRONG = '`timezone` must be an IANA time zone such as Europe/Berlin.'

t.test('POST and PATCH /contacts set, keep and clear the time zone', async t => {
  shows(t, (await ask('POST', '', { email: 'ann@b.com' })).body, { timezone: null })
  shows(t, (await ask('POST', '', { email: 'ann@b.com', timezone: 'Europe/Kyiv' })).body, { timezone: 'Europe/Kyiv' })
  shows(t, (await ask('POST', '', { email: 'ann@b.com', first_name: 'Ann' })).body, { timezone: 'Europe/Kyiv' })
  for (const timezone of [null, '']) {
    await ask('PATCH', '/ann@b.com', { domain: account.domain, timezone: 'Asia/Tokyo' })
    t.equal(await zoneOf('ann@b.com'), 'Asia/Tokyo')
    await ask('PATCH', '/ann@b.com', { domain: account.domain, timezone })
    t.equal(await zoneOf('ann@b.com'), null)
  }
})

t.test('a time zone that does not exist is refused', async t => {
  for (const timezone of ['FOO5', '+02:00', 'Berlin', 'PST', 'x'.repeat(1_000)]) {
    const { status, body } = await ask('POST', '', { email: 'bob@b.com', timezone })
    t.strictSame([status, body.message], [422, WRONG])
  }
  const contacts = [
    { email: 'a@b.com', timezone: 'UTC' },
    { email: 'b@b.com', timezone: 'Mars/Base' },
  ]
  shows(t, (await ask('POST', '/batch', { contacts })).body, { created: 1, errors: [{ index: 1, email: 'b@b.com' }] })
  t.equal(await zoneOf('a@b.com'), 'UTC')
})

t.test('an import reads time zones, and lists lines with invalid ones', async t => {
  const imports = new Imports(api, account.key, openWork(t, world).importer)
  const csv = 'email,Timezone\nc@b.com,America/New_York\nd@b.com,\ne@b.com,Mars/Base\n'
  shows(t, await imports.ofText(csv), {
    counts: { created: 2, failed: 1 },
    errors: [{ line: 4, message: '`Timezone` must be an IANA time zone such as Europe/Berlin.' }],
  })
  t.strictSame([await zoneOf('c@b.com'), await zoneOf('d@b.com')], ['America/New_York', null])
  shows(t, await imports.ofText('email,timezone\nc@b.com,\n'), { counts: { updated: 1 } })
  t.equal(await zoneOf('c@b.com'), 'America/New_York')
})

import t, { type Test } from 'tap'
import { trackedUrl } from '#lib/contents/tracked_url.ts'
import { customField } from '#lib/mail/mime/custom_field.ts'
import { startApi } from '#test/support/api.ts'
import { Imports } from '#test/support/contacts/imports.ts'
import { cpuMs } from '#test/support/cpu_time.ts'
import { newMember, sessionOf } from '#test/support/members.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t, { MAIL_TRANSPORT: 'capture' })
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const imports = new Imports(api, account.key, openWork(t, world).importer)
const owner = await newMember(world, account.id, 'owner')
const headers = {
  ...{ cookie: `mailbrook=${await sessionOf(world, owner.id)}`, 'sec-fetch-site': 'same-origin' },
  ...{ accept: 'text/html', 'user-agent': 'browser' },
}
const from = `a@${account.domain}`

/** Each takes at least ten seconds of CPU time if the time grows with the square of the length. */
const LIMIT_MS = 3_000
async function isFast(t: Test, work: () => Promise<unknown>): Promise<void> {
  const ms = await cpuMs(work)
  t.ok(ms < LIMIT_MS, `${ms} ms`)
}

t.test('the page of an email with long HTML takes linear time, whoever wrote it', async t => {
  for (const html of ['<a '.repeat(80_000), `<img src=${' '.repeat(80_000)}`, `url(${' '.repeat(80_000)}`]) {
    const body = { from, to: 'a@b.com', subject: 'x', html }
    const { id } = (await api.request('POST', '/api/emails', { body })).body
    await isFast(t, async () => (await fetch(`${api.url}/emails/${id}`, { headers })).text())
  }
})

t.test('a path of slashes takes linear time', async t => {
  for (const path of ['/api/contacts/', '/api/audiences/a/contacts/', '/api/']) {
    const url = `${api.url}${path}${'/'.repeat(8_000)}`
    await isFast(t, async () => (await fetch(url, { headers: { 'user-agent': 'x' } })).text())
  }
})

t.test('query strings of many parameters take linear time', async t => {
  for (const path of ['/docs/search', '/login', '/api/emails']) {
    const ask = () => api.request('GET', `${path}?${'a=&'.repeat(5_000)}`)
    await isFast(t, async () => {
      for (let n = 0; n < 10; n++) shows(t, await ask(), { status: 200 })
    })
  }
})

t.test('spaces in links and header fields take linear time', async t => {
  const spaces = ' '.repeat(120_000)
  await isFast(t, async () => t.equal(trackedUrl(`https://a.com/${spaces}b`), null))
  await isFast(t, async () => t.match(customField('X-Note', `a${spaces}b`)?.raw, /^X-Note: =\?/))
  const word = 'x'.repeat(900)
  await isFast(t, async () => t.match(customField('X-Note', `${word} `.repeat(500))?.raw, /^X-Note: x{900}\r\n x/))
})

t.test('the page of an email offers to show its remote images, and only then', async t => {
  const isOffered = async (html: string) => {
    const { id } = (await api.request('POST', '/api/emails', { body: { from, to: 'a@b.com', subject: 'x', html } }))
      .body
    return (await (await fetch(`${api.url}/emails/${id}`, { headers })).text()).includes('Show remote images')
  }
  for (const html of [
    '<img src="http://a.com/x">',
    `<td background = ' //a.com'>`,
    '<p style="background:url( https://a.com)">',
  ])
    t.ok(await isOffered(html), html)
  for (const html of ['<a href="https://a.com">x</a>', '<img src="cid:x">', '<p>url(x)'])
    t.notOk(await isOffered(html), html)
})

t.test('a form with a long list of addresses takes linear time', async t => {
  const draft = { from, subject: 'x', html: 'x', audience_id: account.domain_id }
  const { id } = (await api.request('POST', '/api/campaigns', { body: draft })).body
  const body = new URLSearchParams({ to: `"${'\\"'.repeat(60_000)}` })
  await isFast(t, () => fetch(`${api.url}/campaigns/${id}/test`, { method: 'POST', headers, body }))
})

t.test('a file with a long name of a column, or with long numbers, takes linear time', async t => {
  await isFast(t, () => imports.ofText(`email,a${'-'.repeat(45_000)}b\nann@b.com,1\n`))
  await api.request('POST', '/api/contact-properties', { body: { key: 'age', type: 'number' } })
  const rows = Array.from({ length: 1_000 }, (_, n) => `p${n}@b.com,${'1'.repeat(1_990)}x\n`)
  await isFast(t, () => imports.ofText(`email,age\n${rows.join('')}`))
})

import t from 'tap'
import { startApi } from '#test/support/api.ts'
import { Imports } from '#test/support/contacts/imports.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const { importer } = openWork(t, world)

const post = (path: string, body: object) => api.request('POST', `/api${path}`, { body })
const campaign = { from: `ann@${account.domain}` }
const variants = (fields: object) => ({ ...campaign, subject: 'S', ab_test: { variants: [{ subject: 'A' }, fields] } })

/** How to store a text as a name, or as another text that people see in lists. */
const names: Record<string, (text: string) => [string, object]> = {
  audience: name => ['/audiences', { name }],
  segment: name => ['/segments', { name, domain: account.domain }],
  topic: name => ['/topics', { name, default_subscription: 'opt_in' }],
  'first name': first_name => ['/contacts', { email: 'a@b.com', first_name }],
  'last name': last_name => ['/contacts', { email: 'a@b.com', last_name }],
  campaign: name => ['/campaigns', { ...campaign, subject: 'S', name }],
  automation: name => ['/automations', { name, trigger: 'x', domain: account.domain }],
  template: name => ['/templates', { name, html: 'x' }],
  'question of a poll': question => [
    '/campaigns',
    { ...campaign, subject: 'S', poll: { question, options: ['a', 'b'] } },
  ],
  'label of a poll': label => [
    '/campaigns',
    { ...campaign, subject: 'S', poll: { question: 'Q', options: ['a', label] } },
  ],
}
const lines: typeof names = {
  subject: subject => ['/campaigns', { ...campaign, subject }],
  'preview text': preview_text => ['/campaigns', { ...campaign, subject: 'S', preview_text }],
  'subject of a variant': subject => ['/campaigns', variants({ subject })],
  'preview text of a variant': preview_text => ['/campaigns', variants({ subject: 'B', preview_text })],
  'subject of a template': subject => ['/templates', { name: 'T', html: 'x', subject }],
}

const BREAKING = ['\n', '\t', '\u0085', '\u2028', '\u2029', '\u202a', '\u202b', '\u202c', '\u202d', '\u202e']
const ISOLATES = ['\u2066', '\u2067', '\u2068', '\u2069']
const INVISIBLE = ['\u200b', '\u200b \u2060', '\ufeff\u200d', '\u200e\u00ad']
// Accepted: direction marks, joiners, and letters of a right-to-left script.
const NEEDED = ['a\u200eb', 'a\u200fb', '\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645', '\u{1f468}\u200d\u{1f469}']

for (const [what, bodyOf] of Object.entries({ ...names, ...lines })) {
  t.test(`${what}: line breaks and direction controls are refused`, async t => {
    for (const char of [...BREAKING, ...ISOLATES]) {
      const [path, body] = bodyOf(`a${char}b`)
      const { status, body: answer } = await post(path, body)
      t.equal(status, 422, encodeURIComponent(char))
      t.match(answer.message, / must (be|have) .*one line/)
    }
    for (const text of NEEDED) t.match((await post(...bodyOf(text))).status, /^20[01]$/, encodeURIComponent(text))
    for (const text of what in names ? INVISIBLE : [])
      t.equal((await post(...bodyOf(text))).status, 422, encodeURIComponent(text))
  })
}

t.test('an import removes direction controls from names, and ignores invisible names', async t => {
  const csv =
    'email,first_name,last_name\nturn@b.com,\u202eAnn\u202c,\u2067B\u200f\u2069\nnone@b.com,\u200b,\u202e\u200d\n'
  shows(t, await new Imports(api, account.key, importer).ofText(csv), { counts: { created: 2, failed: 0 } })
  const get = async (email: string) => (await api.request('GET', `/api/contacts/${email}`)).body
  shows(t, await get('turn@b.com'), { first_name: 'Ann', last_name: 'B\u200f' })
  shows(t, await get('none@b.com'), { first_name: null, last_name: null })
})

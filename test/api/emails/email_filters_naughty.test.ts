import t from 'tap'
import { indexEmails } from '#flows/sending/index_emails.ts'
import { startApi } from '#test/support/api.ts'
import { naughtyStrings } from '#test/support/naughty_strings.ts'
import { acceptEmail } from '#test/support/sending.ts'
import { query } from '#test/support/varied_emails.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const isLine = (text: string) => text.length <= 998 && !/[\0\r\n]/.test(text)
const fold = (text: string) => text.toLowerCase().replaceAll('ς', 'σ')

const subjects = new Map<string, string>()
for (let i = 0; i < naughtyStrings.length; i += 5) {
  const lines = naughtyStrings.slice(i, i + 5).filter(isLine)
  const id = await acceptEmail(world, account)
  subjects.set(id, lines.join(' '))
  // The API refuses some of these subjects today, but older emails may have them.
  await world.pool.pg.query('UPDATE emails SET subject = $2 WHERE id = $1', [id, lines.join(' ')])
}
await indexEmails(world.pool, { size: 3, lag_seconds: -60 })
const from = `hello@${account.domain}`
const everything = [...subjects].reverse()

t.test('naughty strings find exactly the emails that contain them', async t => {
  for (const q of naughtyStrings) {
    const { status, body } = await api.request('GET', `/api/emails?${query({ q, limit: '100' })}`)
    if (!isLine(q)) {
      t.match({ status, body }, { status: 422, body: { name: 'validation_error' } }, encodeURIComponent(q))
      continue
    }
    const has = ([id, subject]: [string, string]) =>
      [subject, from, 'x@y.com'].some(line => fold(line).includes(fold(q))) || (q.length >= 8 && id.startsWith(fold(q)))
    const found = body.data.map(email => email.id)
    t.strictSame([status, found], [200, everything.filter(has).map(([id]) => id)], encodeURIComponent(q))
  }
})

t.test('naughty strings in any other filter find nothing or are refused', async t => {
  const names = ['from', 'to', 'tag', 'domain', 'status', 'template_id', 'after']
  for (const text of naughtyStrings) {
    const answers = await Promise.all(names.map(name => api.request('GET', `/api/emails?${query({ [name]: text })}`)))
    const wrong = names.filter((_, i) => {
      const { status, body } = answers[i] as (typeof answers)[number]
      if (status === 422) return body.name !== 'validation_error'
      return status !== 200 || body.data.length > 0
    })
    t.strictSame(wrong, [], encodeURIComponent(text).slice(0, 60))
  }
})

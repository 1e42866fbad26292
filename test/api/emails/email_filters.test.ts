import fc from 'fast-check'
import t from 'tap'
import { v7 as uuid } from 'uuid'
import type { ListedEmail } from '#sql/sending/email_records.ts'
import { idsOf, openVariedEmails, statuses } from '#test/support/varied_emails.ts'

const { account, api, second, templates, stranger, everything, list, shows } = await openVariedEmails(t)

const lines = ({ subject, from, to, cc, bcc }: ListedEmail) => [subject, from, ...to, ...cc, ...bcc]
/** True if a line contains the text, or the id begins with it (at least 8 digits). */
const contains = (text: string) => (email: ListedEmail) =>
  lines(email).some(line => line.toLowerCase().includes(text.toLowerCase())) ||
  (text.length >= 8 && email.id.startsWith(text.toLowerCase()))
const hasStatus = (names: string[]) => (email: ListedEmail) => names.includes(email.status)
const addressOf = (mailbox: string) => (/<(.*)>$/.exec(mailbox)?.[1] ?? mailbox).toLowerCase()

t.test('`status` filters by any of several statuses, also by the last event', async t => {
  for (const status of statuses) await shows(t, { status }, hasStatus([status]))
  await shows(t, { status: 'failed,bounced,failed' }, hasStatus(['failed', 'bounced']))
  await shows(t, { status: 'opened' }, email => email.last_event === 'opened')
  await shows(t, { status: 'clicked,opened' }, email => ['opened', 'clicked'].includes(email.last_event))
  await shows(t, { status: 'opened,delivered,queued' }, hasStatus(['delivered', 'queued']))
  await shows(t, { status: 'clicked,queued' }, email => email.last_event === 'clicked' || email.status === 'queued')
})

t.test('`folder` filters by the statuses of each folder', async t => {
  await shows(t, { folder: 'all' }, () => true)
  await shows(t, { folder: 'transactional' }, () => true)
  await shows(t, { folder: 'sent' }, hasStatus(['sent', 'delivered', 'delivery_delayed', 'complained']))
  await shows(t, { folder: 'scheduled' }, hasStatus(['scheduled']))
  await shows(t, { folder: 'outbox' }, hasStatus(['queued']))
  await shows(t, { folder: 'failed' }, hasStatus(['failed', 'bounced', 'suppressed']))
  await shows(t, { folder: 'canceled' }, hasStatus(['canceled']))
  for (const folder of ['campaigns', 'automations']) await shows(t, { folder }, () => false, true)
})

t.test('`q`, `search` and `query` ignore case and take wildcards literally', async t => {
  const { id = '' } = everything[5] ?? {}
  for (const q of [
    ...[
      'invoice',
      '100% PAID',
      '100%',
      '%',
      '_',
      'E_C',
      'snake_',
      '\\',
      'k\\s',
      "'",
      'äPFEL',
      'Ö',
      '明你',
      '好',
      'привет',
    ],
    ...[
      '😀',
      'abc\tdef',
      '%_\\',
      '+',
      '\\303',
      '303',
      id,
      id.slice(0, 8),
      id.slice(0, 20).toUpperCase(),
      'ann, b.',
      'örjan',
    ],
    ...['<billing@', 'most_x', 'HIDDEN@copy.org', 'u%n@', 'ünï %', 'x@y.com', 'a', '.'],
  ]) {
    await shows(t, { q }, contains(q))
  }
  for (const q of [
    'no such text',
    '100_',
    '%%',
    '\\304',
    'paid\\',
    'ÄPFELÄ',
    '李好',
    '\u{10ffff}',
    `${id}x`,
    `${id.slice(0, 8)}x`,
  ]) {
    await shows(t, { q }, contains(q), true)
  }
  for (const name of ['search', 'query']) await shows(t, { [name]: 'Invoice' }, contains('invoice'))
  await shows(t, { q: '' }, () => true)
})

t.test('`q` finds exactly the emails that contain it, for any text', async t => {
  const text = everything.flatMap(email => lines(email)).join(' ')
  const part = fc.tuple(fc.nat(text.length), fc.integer({ min: 1, max: 6 })).map(([i, n]) => text.slice(i, i + n))
  const awkward = fc.string({ unit: fc.constantFrom(...'%_\\\'"*?[](){}|^$.;-/ aZäß好\u0130\u03a3😀'), maxLength: 5 })
  await t.resolves(
    fc.assert(
      fc.asyncProperty(fc.oneof(part, awkward, fc.string({ unit: 'binary', maxLength: 5 })), async given => {
        const q = given.toWellFormed()
        fc.pre(!/[\0\r\n]/.test(q))
        const expected = q === '' ? everything : everything.filter(contains(q))
        t.strictSame(idsOf((await list({ q })).data), idsOf(expected), JSON.stringify(q))
      }),
      { numRuns: 100 },
    ),
  )
})

t.test('`domain`, `tag`, `from` and `to` filter exactly', async t => {
  const isSecond = (email: ListedEmail) => email.domain_id === second.id
  for (const domain of [second.name, second.name.toUpperCase(), second.id, second.id.toUpperCase()])
    await shows(t, { domain }, isSecond)
  for (const domain of ['nobody.com', stranger.domain, stranger.domain_id])
    await shows(t, { domain }, () => false, true)
  await shows(t, { tag: 'kind' }, email => email.tags.some(tag => tag.name === 'kind'))
  await shows(t, { tag: 'kind:b' }, email => email.tags.some(tag => tag.name === 'kind' && tag.value === 'b'))
  await shows(t, { tag: 'b' }, () => false, true)
  for (const from of [`hello@${account.domain}`, `Any <BILLING@${account.domain}>`, `hello@${second.name}`]) {
    await shows(t, { from }, email => addressOf(email.from) === addressOf(from))
  }
  for (const to of ['x@y.com', 'X@Y.com', 'al.most_x@y.com', 'u%n@y.com', 'x@y.com.au']) {
    await shows(t, { to }, email => email.to.map(addressOf).includes(to.toLowerCase()))
  }
  await shows(t, { to: 'hidden@copy.org' }, () => false, true)
})

t.test('`created_after` and `created_before` are exclusive', async t => {
  const created = (i: number) => String(everything[i]?.created_at)
  const [late, early] = [created(10), created(40)]
  const milliseconds = (email: ListedEmail) => new Date(email.created_at).getTime()
  // Postgres keeps microseconds: an email is created later than its millisecond begins.
  const isAfter = (email: ListedEmail) => milliseconds(email) >= Date.parse(early)
  const isBefore = (email: ListedEmail) => milliseconds(email) < Date.parse(late)
  await shows(t, { created_after: early }, isAfter)
  await shows(t, { created_before: late }, isBefore)
  await shows(t, { created_after: early, created_before: late }, email => isAfter(email) && isBefore(email))
  await shows(t, { created_after: early.replace('Z', '+00:00') }, isAfter)
  for (const day of ['0001-01-01', '1970-01-01', '2001-02-03']) await shows(t, { created_after: day }, () => true)
  for (const day of ['0001-01-01', '2001-02-03']) await shows(t, { created_before: day }, () => false, true)
  await shows(t, { created_before: '9999-12-31' }, () => true)
})

t.test('filters combine, in pages of either direction', async t => {
  const isInvoice = contains('invoice')
  await shows(t, { q: 'invoice', folder: 'sent' }, email => isInvoice(email) && /sent|deli|compl/.test(email.status))
  await shows(t, { folder: 'failed', status: 'bounced,sent' }, hasStatus(['bounced']))
  await shows(t, { folder: 'sent', status: 'opened' }, email => email.last_event === 'opened')
  await shows(t, { folder: 'failed', status: 'sent' }, () => false, true)
  await shows(t, { domain: second.id, status: 'queued' }, e => e.domain_id === second.id && e.status === 'queued')
  await shows(t, { q: 'y.com', tag: 'kind', to: 'x@y.com' }, e => e.tags[0]?.name === 'kind' && e.to[0] === 'x@y.com')

  const ids = idsOf(everything.filter(contains('y.com')))
  const page = await list({ q: 'y.com', before: ids[30] as string, limit: '5' })
  t.strictSame(
    { ids: page.data.map(email => email.id), has_more: page.has_more },
    { ids: ids.slice(25, 30), has_more: true },
  )
  const first = await list({ q: 'y.com', before: ids[3] as string, limit: '5' })
  t.strictSame(
    { ids: first.data.map(email => email.id), has_more: first.has_more },
    { ids: ids.slice(0, 3), has_more: false },
  )
})

t.test('filters find no emails of another account', async t => {
  const mine = await api.request('GET', `/api/emails?q=${stranger.domain}`)
  t.strictSame(mine.body.data, [])
  const theirs = await api.request('GET', '/api/emails?q=invoice&tag=kind', { key: stranger.key })
  t.equal(theirs.body.data.length, 1)
})

t.test('`template_id` filters by id or alias, and by id after deletion', async t => {
  const [one = '', two = ''] = templates
  const isMadeFrom = (id: string) => (email: ListedEmail) => email.template_id === id
  for (const ref of [one, one.toUpperCase(), 'one']) await shows(t, { template_id: ref }, isMadeFrom(one))
  await shows(t, { template_id: two, from: `hello@${account.domain}` }, isMadeFrom(two))
  await shows(
    t,
    { template_id: one, q: 'invoice', tag: 'kind' },
    e => /^Inv/.test(e.subject) && isMadeFrom(one)(e) && e.tags[0]?.name === 'kind',
  )
  await shows(
    t,
    { template_id: two, status: 'delivered,sent' },
    e => isMadeFrom(two)(e) && /^(delivered|sent)$/.test(e.status),
  )
  for (const ref of ['three', uuid(), second.id]) await shows(t, { template_id: ref }, () => false, true)
  await api.request('DELETE', '/api/templates/one')
  await shows(t, { template_id: one }, isMadeFrom(one))
  await shows(t, { template_id: 'one' }, () => false, true)
})

t.test('an unknown `campaign_id` finds nothing', async t => {
  await shows(t, { campaign_id: uuid() }, () => false, true)
})

import { type GetEmailsMetricsOptions, Resend } from 'resend'
import t from 'tap'
import { newId } from '#lib/ids.ts'
import { applyReportedOutcome, type ReportedOutcome } from '#sql/receiving/reports.ts'
import { recordHits } from '#sql/tracking/hits.ts'
import { startApi } from '#test/support/api.ts'
import { addContacts, queueCampaign, sendUntil } from '#test/support/campaigns.ts'
import { countMetrics, countsIn } from '#test/support/metrics.ts'
import { compose, receive } from '#test/support/receiving.ts'
import { acceptEmail, deliverEmails, openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { makeHit } from '#test/support/tracking.ts'
import { addDomain, newAccount, openWorld, type TestAccount } from '#test/support/world.ts'

const world = await openWorld(t)
const bystander = await newAccount(world)
const api = await startApi(t, world, bystander.key)
const work = openWork(t, world, 'capture')

async function ask({ key }: TestAccount, options?: GetEmailsMetricsOptions) {
  const { data, error } = await new Resend(key, { baseUrl: `${api.url}/api` }).emails.metrics(options)
  if (!data) throw new Error(error?.message)
  return { ...data, counts: countsIn(data.totals), rows: data.data?.map(countsIn) }
}

async function send(from: TestAccount, to: string[], fields: object = {}): Promise<string> {
  const id = await acceptEmail(world, from, { to, html: '<a href="https://acme.com/">x</a>', ...fields })
  await deliverEmails(work, [id])
  return id
}

/** Returns the first delivery of an email, for hits on it. */
async function trackedOf({ id }: TestAccount, email_id: string) {
  const { rows } = await world.pool.pg.query('SELECT id FROM deliveries WHERE email_id = $1 ORDER BY id', [email_id])
  const empty = { recipient: '', urls: ['https://acme.com/'], open_path: '', click_paths: [] }
  return { account_id: id, email_id, delivery_id: rows[0].id as string, ...empty }
}

async function report(account: TestAccount, email_id: string, outcome: ReportedOutcome['outcome']): Promise<void> {
  const { account_id, delivery_id } = await trackedOf(account, email_id)
  const words = { subType: 'NoEmail' as const, message: '', diagnosticCode: [] }
  const bounce = outcome === 'complained' ? null : { type: 'Permanent' as const, ...words }
  const suppression_id = outcome === 'failed' ? null : newId()
  const told = { reason: 'Told.', reply: null, class: null, bounce, suppression_id }
  await world.pool.transaction(tx => applyReportedOutcome(tx, { account_id, delivery_id, outcome, ...told }))
}

const simulated = (...names: string[]) => names.map(name => `${name}@simulator.internal`)

t.test('an account without email has metrics of 0 for seven days', async t => {
  const { counts, ...answer } = await ask(bystander)
  shows(t, answer, { object: 'metrics', dimensions: [], granularity: 'daily', data: undefined })
  t.equal(Date.parse(answer.end_date) - Date.parse(answer.start_date), 6 * 86_400_000)
  t.equal(answer.metrics.length, 22)
  t.equal(Object.keys(answer.totals).length, 22)
  t.strictSame(counts, {})
  const { rows } = await ask(bystander, { dimensions: ['period'] })
  t.equal(rows?.length, 7)
})

t.test('every outcome of a recipient is counted once', async t => {
  const account = await newAccount(world)
  await send(account, [...simulated('delivered', 'bounced'), 'x@example.com'])
  await send(account, simulated('suppressed'))
  await send(account, simulated('complained'))
  const bounced = await send(account, ['a@b.com'])
  const failed = await send(account, ['b@b.com'])
  const complained = await send(account, ['c@b.com'])
  const before = { sent: 5, delivered: 5, bounced: 1, bounced_permanent: 1, suppressed: 2, complained: 1 }
  t.strictSame((await ask(account)).counts, sorted(before))

  await report(account, bounced, 'bounced')
  await report(account, failed, 'failed')
  await report(account, complained, 'complained')
  await report(account, complained, 'bounced')
  const after = { ...before, delivered: 3, bounced: 2, bounced_permanent: 2, failed: 1, complained: 2 }
  const { totals, counts } = await ask(account)
  t.strictSame(counts, sorted(after))
  shows(t, totals, { delivery_rate: 0.6, bounce_rate: 0.4, complaint_rate: 0.6667, open_rate: 0 })
  t.strictSame((await ask(account, { metrics: ['sent', 'bounce_rate'] })).totals, { sent: 5, bounce_rate: 0.4 })
  t.strictSame((await ask(bystander)).counts, {}, 'only emails of this account count')
})

/** Sorts counts in the order of the response. */
function sorted(counts: Record<string, number>): Record<string, number> {
  const names = [
    'received',
    'delivered',
    'complained',
    'suppressed',
    'bounced',
    'bounced_transient',
    'bounced_permanent',
  ]
  const rest = [
    'opened',
    'clicked',
    'unsubscribed',
    'delivery_delayed',
    'failed',
    'sent',
    'unique_opened',
    'unique_clicked',
  ]
  return Object.fromEntries([...names, ...rest].flatMap(name => (counts[name] ? [[name, counts[name]]] : [])))
}

t.test('opens and clicks of people are counted in the period in which they happened', async t => {
  const account = await newAccount(world)
  const email = await trackedOf(account, await send(account, ['a@b.com'], { track_opens: true, track_clicks: true }))
  const other = await trackedOf(account, await send(account, ['b@b.com'], { track_clicks: true }))
  await world.pool.pg.query(
    `UPDATE email_events SET created_at = created_at - interval '3 days' WHERE account_id = $1`,
    [account.id],
  )
  const yesterday = new Date().setUTCHours(-12, 0, 0, 0)
  const hit = (of: typeof email, link: number | null, ms: number) =>
    makeHit(of, link, 0, { created_at: new Date(yesterday + ms) })
  const day = 86_400_000
  await recordHits(world.pool, [hit(email, null, 0), makeHit(email, null), makeHit(email, null, 0, { class: 'mpp' })])
  await recordHits(world.pool, [hit(other, 0, 0), hit(other, 0, 60_000), makeHit(other, 0, 0, { class: 'machine' })])
  const opened = { opened: 3, clicked: 2, unique_opened: 2, unique_clicked: 1 }
  shows(t, (await ask(account)).counts, opened)
  const { rows } = await ask(account, { dimensions: ['period'], metrics: ['opened', 'unique_opened', 'clicked'] })
  shows(t, rows?.slice(-2), [{ opened: 2, unique_opened: 2, clicked: 2 }, { opened: 1 }])

  // An open that is recorded late replaces the first one, and the one that a click implied.
  await recordHits(world.pool, [hit(other, null, -day), hit(email, null, -day)])
  const moved = await ask(account, { dimensions: ['period'], metrics: ['opened', 'unique_opened'] })
  shows(t, moved.counts, { opened: 4, unique_opened: 2 })
  shows(t, moved.rows?.slice(-3), [{ opened: 2, unique_opened: 2 }, { opened: 1 }, { opened: 1 }])
})

t.test('`dimensions` breaks metrics down by domain and campaign, with equal totals', async t => {
  const account = await newAccount(world)
  const second = { ...account, domain_id: newId(), domain: `x${newId().slice(-8)}.com` }
  const { domain_id: id, domain: name } = second
  await addDomain(world.pool, world.secrets, { account_id: account.id, id, name, status: 'verified' })
  await addContacts(world, account, ['a@b.com', 'b@b.com', ...simulated('bounced')])
  const campaign = await queueCampaign(world, account)
  await sendUntil(work, campaign)
  await send(account, simulated('delivered'))
  await send(second, simulated('delivered', 'bounced'))
  await receive(work, second, await compose({ text: 'Hi' }), { received_for: [`a@${name}`, `b@${name}`] })

  const first = { domain_id: account.domain_id, domain_name: account.domain }
  const of_campaign = { broadcast_id: campaign.campaign_id, broadcast_name: 'March' }
  const metrics = ['received', 'sent', 'bounced'] as const
  const by = async (options: GetEmailsMetricsOptions) => {
    const { rows, counts } = await ask(account, { ...options, metrics: [...metrics] })
    return { rows, counts }
  }
  t.strictSame(await by({ dimensions: ['domain'] }), {
    counts: { received: 2, sent: 4, bounced: 2 },
    rows: [
      { ...first, sent: 3, bounced: 1 },
      { domain_id: id, domain_name: name, received: 2, sent: 1, bounced: 1 },
    ],
  })
  t.strictSame(await by({ dimensions: ['broadcast'], domainId: [account.domain_id, newId()] }), {
    counts: { sent: 3, bounced: 1 },
    rows: [{ ...of_campaign, sent: 2, bounced: 1 }, { sent: 1 }],
  })
  const period = (await ask(account)).end_date.slice(0, 10)
  t.strictSame(await by({ dimensions: ['period', 'domain'], broadcastId: [campaign.campaign_id] }), {
    counts: { sent: 2, bounced: 1 },
    rows: [{ period, ...first, sent: 2, bounced: 1 }],
  })
  t.strictSame(await by({ domainId: [bystander.domain_id] }), { counts: {}, rows: undefined })
})

t.test('metrics of single emails are counted by `email_id`', async t => {
  const account = await newAccount(world)
  const [first, second] = [await send(account, simulated('delivered', 'bounced')), await send(account, ['a@b.com'])]
  await send(account, simulated('delivered'))
  const theirs = await send(bystander, simulated('delivered'))
  await report(account, second, 'bounced')
  const { rows, counts } = await ask(account, {
    dimensions: ['email', 'domain'],
    emailId: [first, second, theirs],
    metrics: ['sent', 'delivered', 'bounced'],
  })
  const domain = { domain_id: account.domain_id, domain_name: account.domain }
  t.strictSame(rows, [
    { ...domain, email_id: first, sent: 1, delivered: 1, bounced: 1 },
    { ...domain, email_id: second, sent: 1, bounced: 1 },
  ])
  t.strictSame(counts, { sent: 2, delivered: 1, bounced: 2 })
})

t.test('GET /emails/metrics refuses invalid queries by field', async t => {
  const names = ['received', 'delivered', 'complained']
  const refused: [Record<string, string>, RegExp][] = [
    [
      { metrics: 'sent,spam' },
      new RegExp(`^\`metrics\` must be one or several of \`${names.join('`, `')}\`, .*commas\\.$`),
    ],
    [
      { dimensions: 'tag' },
      /^`dimensions` must be one or several of `period`, `domain`, `email`, `broadcast`, separated by commas\.$/,
    ],
    [{ granularity: 'yearly' }, /^`granularity` must be `hourly`, `daily`, `weekly` or `monthly`\.$/],
    ...['Mars/Base', '+02:00', 'EST', 'Europe/Berlin; x'].map(
      timezone =>
        [{ timezone }, /^`timezone` must be the IANA name of a timezone, such as `Europe\/Berlin` or `UTC`\.$/] as [
          Record<string, string>,
          RegExp,
        ],
    ),
    [
      { start_date: 'monday' },
      /^`start_date` must be an ISO 8601 date, which stands for midnight in `timezone`, or a timestamp/,
    ],
    [{ start_date: '2026-02-30' }, /^`start_date` must be an ISO 8601 date/],
    [{ start_date: '9999-01-01' }, /^`start_date` must not be after `end_date`\.$/],
    [{ end_date: '0001-01-01' }, /^`end_date` must be in the last 400 days: older figures are not kept\.$/],
    [{ domain_id: 'acme.com' }, /^`domain_id` must be 1 to 100 ids, UUIDs separated by commas\.$/],
    [{ email_id: Array.from({ length: 101 }, newId).join() }, /^`email_id` must be 1 to 100 ids/],
    [{ dimensions: 'email' }, /^The dimension `email` needs `email_id`: the emails that are wanted\.$/],
    [{ dimensions: 'email,broadcast' }, /^The dimension `email` and the dimension `broadcast` cannot be combined\.$/],
    [{ email_id: newId(), broadcast_id: newId() }, /^`email_id` and `broadcast_id` cannot be combined\.$/],
  ]
  for (const [query, message] of refused) {
    const { status, body } = await api.request('GET', `/api/emails/metrics?${new URLSearchParams(query)}`)
    shows(t, { code: status, ...body }, { code: 422, name: 'validation_error', message }, JSON.stringify(query))
  }
  const { status } = await api.request('GET', '/api/emails/metrics', { key: bystander.sending_key })
  t.equal(status, 401)
})

t.test('GET /emails/metrics returns at most 10,000 rows', async t => {
  const account = await newAccount(world)
  const at = new Date()
  const moves = Array.from({ length: 10_001 }, () => ({ name: 'sent' as const, at, campaign_id: newId() }))
  await countMetrics(world, account, moves)
  t.equal((await ask(account)).counts.sent, 10_001)
  await t.rejects(ask(account, { dimensions: ['broadcast'] }), {
    message: /^The answer would have more than 10,000 rows\./,
  })
})

import t from 'tap'
import { openBrowser } from '#test/support/browser.ts'
import { shows } from '#test/support/shows.ts'
import { BROWSER } from '#test/support/tracking.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { openWalk } from '#test/support/walk.ts'

const CONTACTS = 2_000
/** Variants of the second test. */
const FEW = 40

const { world, account, get, post, mailTo } = await openWalk(t)
const { pg } = world.pool
const browser = openBrowser(t)

type Figures = { status: string; winner: string; decided_by: string; confidence: number; significant: boolean }

const reaches = (path: string, isThere: (body: Record<string, unknown>) => boolean, what: string) =>
  waitUntil(async () => isThere(await get(path)), what)

/** The recipients of delivered emails, by subject. */
async function recipientsOf(campaign_id: string): Promise<Map<string, string[]>> {
  const { rows } = await pg.query<{ subject: string; recipients: string[] }>(
    `SELECT e.subject, array_agg(d.recipient ORDER BY d.recipient) AS recipients
     FROM deliveries d JOIN emails e ON e.account_id = d.account_id AND e.id = d.email_id
     WHERE d.campaign_id = $1 AND d.state = 'delivered' GROUP BY 1`,
    [campaign_id],
  )
  return new Map(rows.map(({ subject, recipients }) => [subject, recipients]))
}

/** Fetches the pixel of an email, like a mail program. */
async function open(address: string): Promise<void> {
  const { html } = await mailTo(address)
  const pixel = String(html).match(/src="(http:[^"]+\/t\/o\/[^"]+)"/)?.[1] as string
  await (await fetch(pixel, { headers: { 'user-agent': BROWSER } })).arrayBuffer()
}

/** Lets the hour between the test and its decision pass. */
async function passHour(campaign_id: string): Promise<void> {
  await pg.query('UPDATE campaign_runs SET decide_at = now(), next_at = now() WHERE campaign_id = $1', [campaign_id])
  const job = `UPDATE graphile_worker._private_jobs SET run_at = now() WHERE key = $1 AND locked_at IS NULL`
  const isDecided = async () => {
    await pg.query(job, [`send_campaign ${campaign_id}`]) // again, since the sender may be about to add it
    return (await get<Figures>(`/campaigns/${campaign_id}/ab`)).status === 'decided'
  }
  await waitUntil(isDecided, 'the winner is chosen')
}

const draft = {
  from: `News <news@${account.domain}>`,
  subject: 'March',
  html: '<p>Hello {{first_name|you}}</p>{{poll}}',
  track_opens: true,
  poll: { question: 'How did we do?', options: ['Great', 'OK', 'Bad'] },
  ab_test: { test_percentage: 20, wait_hours: 1, variants: [{ subject: 'Red' }, { subject: 'Blue' }] },
}

t.test('an A/B test sends the winner to the other recipients, and all share one poll', async t => {
  const rows = Array.from({ length: CONTACTS }, (_, n) => `p${n}@y.com,Person ${n}`)
  const { id: import_id } = await post('/contacts/imports', { csv: ['email,first_name', ...rows].join('\n') })
  await reaches(`/contacts/imports/${import_id}`, body => Boolean(body.completed_at), 'the import has ended')
  const { id } = await post('/campaigns', { ...draft, audience_id: account.domain_id })
  const sent = await post<{ status: string; warnings: string[] }>(`/campaigns/${id}/send`, {})
  shows(t, sent, { status: 'testing' })
  t.equal(
    sent.warnings[1],
    'Each variant is tried on about 200 contacts. With fewer than 1,000, the winner may be better by chance.',
  )
  await reaches(`/campaigns/${id}/ab`, ({ decide_at }) => Boolean(decide_at), 'the test is sent')

  const tested = await recipientsOf(id)
  const [red, blue] = [tested.get('Red') as string[], tested.get('Blue') as string[]]
  for (const address of red.slice(0, red.length * 0.1)) await open(address)
  const openers = blue.slice(0, blue.length * 0.4)
  for (const address of openers) await open(address)
  const figures = `/campaigns/${id}/ab`
  const isCounted = ({ variants }: Record<string, unknown>) =>
    (variants as { unique_opened: number }[])[1]?.unique_opened === openers.length
  await reaches(figures, isCounted, 'the opens are counted')
  await passHour(id)
  await reaches(`/campaigns/${id}`, ({ status }) => status === 'sent', 'the winner is sent')
  const decided = await get<Figures>(figures)
  shows(t, decided, { status: 'decided', winner: 'B', decided_by: 'automatic', significant: true })
  const all = await recipientsOf(id)
  t.strictSame([all.get('Red')?.length, all.get('Blue')?.length], [red.length, CONTACTS - red.length])

  await answerTwice(openers[0] as string)
  await scan(red[0] as string)
  shows(t, await get(`/polls/${id}`), {
    ...{ question: 'How did we do?', responses_count: 1 },
    answers: [
      { key: 'great', count: 0 },
      { key: 'ok', count: 1 },
      { key: 'bad', count: 0 },
    ],
    responses: [{ email: openers[0], answer: 'ok' }],
  })
})

async function pollLinks(address: string): Promise<string[]> {
  const { html } = await mailTo(address)
  return [...String(html).matchAll(/href="(http:[^"]+\/p\/[^"]+)"/g)].map(([, url]) => url as string)
}

/** Presses the button of one option, returns to the email, and chooses another. */
async function answerTwice(address: string): Promise<void> {
  const page = await (await browser).newPage()
  const [great, ok] = await pollLinks(address)
  await page.goto(great as string)
  await page.getByRole('button', { name: 'Send answer' }).click()
  await page.getByRole('status').getByText('Great').waitFor()
  await page.goto(ok as string)
  await page.getByRole('button', { name: 'Change answer' }).click()
  await page.getByRole('status').getByText('OK').waitFor()
}

/** Opens all links like a mail filter, in a browser with scripts, and by HEAD requests. */
async function scan(address: string): Promise<void> {
  const page = await (await browser).newPage()
  for (const url of await pollLinks(address)) {
    await fetch(url, { method: 'HEAD' })
    await page.goto(url, { waitUntil: 'networkidle' })
  }
}

t.test('an A/B test without opens says that its winner is a guess', async t => {
  const { id: segment_id } = await post('/segments', { domain: account.domain, name: 'Few' })
  for (let n = 0; n < FEW; n++) await post(`/contacts/p${n}@y.com/segments/${segment_id}`, {})
  const { id } = await post('/campaigns', { ...draft, ab_test: { ...draft.ab_test, test_percentage: 50 }, segment_id })
  await post(`/campaigns/${id}/send`, {})
  await reaches(`/campaigns/${id}/ab`, ({ decide_at }) => Boolean(decide_at), 'the test is sent')
  await passHour(id)
  await reaches(`/campaigns/${id}`, ({ status }) => status === 'sent', 'the winner is sent')
  shows(t, await get<Figures>(`/campaigns/${id}/ab`), { winner: 'A', decided_by: 'automatic', significant: false })
})

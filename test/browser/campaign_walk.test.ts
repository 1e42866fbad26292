import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { openBrowser } from '#test/support/browser.ts'
import { compose, receive } from '#test/support/receiving.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { openWalk } from '#test/support/walk.ts'

const CONTACTS = 1_000
/** One of this many contacts has the plan `pro`. */
const PRO = 4

const { world, account, get, post, mailTo } = await openWalk(t)

/** Targets of the links in the campaign. */
const site = createServer((_, response) => response.end('Welcome'))
await new Promise<void>(resolve => site.listen(0, '127.0.0.1', resolve))
t.teardown(() => site.close())
const shop = `http://127.0.0.1:${(site.address() as AddressInfo).port}`

const reaches = (path: string, isThere: (body: Record<string, unknown>) => boolean, what: string) =>
  waitUntil(async () => isThere(await get(path)), what)

t.test('the report of a campaign counts people and not scanners', async t => {
  await post('/contact-properties', { key: 'plan', type: 'string' })
  const rows = Array.from({ length: CONTACTS }, (_, n) => `p${n}@y.com,Person ${n},${n % PRO === 0 ? 'pro' : 'free'}`)
  const csv = ['email,first_name,plan', ...rows].join('\n')
  const { id: import_id } = await post('/contacts/imports', { csv })
  await reaches(`/contacts/imports/${import_id}`, body => Boolean(body.completed_at), 'the import has ended')
  const filter = { property_filters: [{ key: 'plan', operator: 'eq', value: 'pro' }] }
  const { id: segment_id } = await post('/segments', { domain: account.domain, name: 'Pros', filter })

  const html = `<h1>Hello {{first_name}}</h1><a href="${shop}/offer?a=1&amp;b=2">Offer</a> <a href="${shop}/news">News</a>`
  const draft = { from: `News <news@${account.domain}>`, subject: 'March', html, track_opens: true, track_clicks: true }
  const { id } = await post('/campaigns', { ...draft, name: 'March', segment_id })
  shows(t, await post(`/campaigns/${id}/send`, { expected_recipients: CONTACTS / PRO }), { status: 'queued' })
  await reaches(`/campaigns/${id}`, ({ status }) => status === 'sent', 'the campaign is sent')

  const [person, scanned, leaver, writer] = ['p0@y.com', 'p4@y.com', 'p8@y.com', 'p12@y.com'] as const
  const scannedMail = await mailTo(scanned)
  for (const [, url] of String(scannedMail.html).matchAll(/(?:href|src)="(http:[^"]+)"/g)) {
    await fetch(url as string, { redirect: 'manual', headers: { 'user-agent': 'python-requests/2.32' } })
  }

  await sleep(3_500) // a click within 3 s of the delivery counts as a machine
  const userAgent =
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/143.0.0.0 Safari/537.36'
  const context = await (await openBrowser(t)).newContext({ userAgent })
  const page = await context.newPage()
  const mail = await mailTo(person)
  t.match(mail.html, /Hello Person 0</)
  const fields = new Map(mail.headerLines.map(({ key, line }) => [key, line]))
  t.match(fields.get('list-unsubscribe'), /<http:[^>]+\/u\/[\w-]+>/)
  t.match(
    fields.get('feedback-id'),
    new RegExp(`${id.slice(-12)}:${account.id.slice(-12)}::${account.domain_id.slice(-12)}$`),
  )
  await page.setContent(String(mail.html))
  await page.getByRole('link', { name: 'Offer' }).click()
  await page.waitForURL(`${shop}/offer?a=1&b=2`)

  const leaving = String((await mailTo(leaver)).html).match(/href="(http:[^"]+\/u\/[^"]+)"/)?.[1] as string
  t.equal((await fetch(leaving, { method: 'POST', body: 'List-Unsubscribe=One-Click' })).status, 200)

  const { messageId } = await mailTo(writer)
  const reply = await compose({
    from: writer,
    subject: 'Re: March',
    text: 'Tell me more',
    inReplyTo: messageId as string,
  })
  await receive(openWork(t, world), account, reply, { mail_from: writer, received_for: [`news@${account.domain}`] })

  const stats = `/campaigns/${id}/stats`
  await reaches(stats, ({ unique_clicked }) => unique_clicked === 1, 'the click is counted')
  await reaches(stats, ({ machine_clicked }) => machine_clicked === 1, 'the scanner is counted')
  const recipients = CONTACTS / PRO
  shows(t, await get(stats), {
    ...{ recipients, sent: recipients, delivered: recipients, bounced: 0, failed: 0 },
    ...{ unique_opened: 1, unique_clicked: 1, replied: 1, unsubscribed: 1, delivery_rate: 1 },
    top_links: [{ url: `${shop}/offer?a=1&b=2`, clicks: 1, unique_clicks: 1 }],
  })
  shows(t, await get(`/campaigns/${id}/engagement`), {
    opened: [{ email: person }],
    clicked: [{ email: person }],
    replied: [{ email: writer, preview: /^Tell me more\s*$/ }],
  })
  shows(t, await get(`/contacts/${leaver}`), { unsubscribed: true })
  shows(t, await get(`/contacts/${scanned}`), { unsubscribed: false })

  const { id: second } = await post('/campaigns', { ...draft, name: 'April', audience_id: account.domain_id })
  await post(`/campaigns/${second}/send`, {})
  await reaches(`/campaigns/${second}/stats`, ({ delivered }) => (delivered as number) > 0, 'some of it is delivered')
  shows(t, await post(`/campaigns/${second}/cancel`, {}), { status: 'canceled' })
  const rest = ({ pending }: Record<string, unknown>) => pending === 0
  await reaches(`/campaigns/${second}/stats`, rest, 'nothing of it is left')
  const figures = await get<Record<string, number>>(`/campaigns/${second}/stats`)
  const { delivered = 0, canceled = 0, suppressed = 0 } = figures
  t.equal(delivered + canceled + suppressed, CONTACTS - 1, 'everybody except those who unsubscribed')
  t.ok(canceled > 0, `${canceled} are canceled`)
})

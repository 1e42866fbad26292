import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import t from 'tap'
import { openDashboard } from '#test/support/dashboard.ts'
import { compose, receive } from '#test/support/receiving.ts'
import { ROOT } from '#test/support/root.ts'
import { openWork } from '#test/support/sending.ts'
import { openSink } from '#test/support/smtp/open_sink.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { startWorker } from '#workers/worker.ts'

/** Writes the pictures of the docs into docs/pictures, from a server with made-up mail: npm run pictures */

const DIRECTORY = join(ROOT, 'docs/pictures')
const SIZE = { width: 1_200, height: 800 }
const PEOPLE = ['Anna', 'Bob', 'Cleo', 'Dan', 'Emma', 'Finn', 'Grace', 'Hugo', 'Iris', 'Jack', 'Kim', 'Liam']

const dashboard = await openDashboard(t)
const { world, account, api } = dashboard
// A readable name in place of a generated one.
const domain = 'acme.com'
await world.pool.pg.query('UPDATE domains SET name = $2 WHERE id = $1', [account.domain_id, domain])
await world.pool.pg.query(`UPDATE accounts SET name = 'Acme' WHERE id = $1`, [account.id])
const simulator = world.config.SIMULATOR_DOMAIN

async function ask(method: string, path: string, body?: object): Promise<Record<string, unknown> & { id: string }> {
  const { status, text, body: answer } = await api.request(method, `/api${path}`, body ? { body } : {})
  if (status >= 400) throw new Error(`${method} ${path}: ${text}`)
  return answer as never
}
const post = (path: string, body: object = {}) => ask('POST', path, body)

/** Gives the account a day’s emails, a campaign, and what belongs to them. Returns the ids of what is shown. */
async function fill(): Promise<Record<string, string>> {
  const from = `Acme <hello@${domain}>`
  const delayed = await delay(from)
  const worker = await startWorker(world)
  t.teardown(() => worker.stop())
  await post('/contact-properties', { key: 'plan', type: 'string' })
  for (const [n, name] of PEOPLE.entries()) {
    const plan = n % 3 === 0 ? 'gold' : 'free'
    await post('/contacts', { email: `${name.toLowerCase()}@acme.org`, first_name: name, properties: { plan }, domain })
  }
  const readers = await post('/audiences', { name: 'Readers', domain })
  for (const [outcome, count] of Object.entries({
    delivered: 40,
    opened: 46,
    clicked: 25,
    bounced: 3,
    complained: 1,
  })) {
    const contacts = Array.from({ length: count }, (_, n) => ({ email: `${outcome}+${n}@${simulator}` }))
    await post(`/audiences/${readers.id}/contacts/batch`, { contacts })
  }
  const html = '<h1>March</h1><p>Hello {{first_name|there}},</p><p><a href="https://acme.com/offer">Our offer</a></p>'
  const tracked = { track_opens: true, track_clicks: true }
  const content = { from, subject: 'News of March', html, ...tracked }
  const campaign = await post('/campaigns', { ...content, name: 'March', audience_id: readers.id })
  await post(`/campaigns/${campaign.id}/send`)
  await waitUntil(async () => (await ask('GET', `/campaigns/${campaign.id}`)).status === 'sent', 'the campaign is sent')

  const steps = [
    { key: 'start', type: 'trigger', config: { event_name: 'signed.up' } },
    { key: 'wait', type: 'delay', config: { duration: '1 day' } },
    {
      key: 'gold',
      type: 'condition',
      config: { type: 'rule', field: 'contact.properties.plan', operator: 'eq', value: 'gold' },
    },
    { key: 'thanks', type: 'send_email', config: { from, subject: 'Thank you', html: '<p>Thank you!</p>' } },
    { key: 'offer', type: 'send_email', config: { from, subject: 'Try gold', html: '<p>Try it.</p>' } },
  ]
  const connections = [
    { from: 'start', to: 'wait' },
    { from: 'wait', to: 'gold' },
    { from: 'gold', to: 'thanks', type: 'condition_met' },
    { from: 'gold', to: 'offer', type: 'condition_not_met' },
  ]
  const automation = await post('/automations', { name: 'Welcome', domain, status: 'enabled', steps, connections })
  for (const name of PEOPLE.slice(0, 5))
    await post('/events/send', { event: 'signed.up', email: `${name.toLowerCase()}@acme.org`, domain })

  for (const [n, name] of PEOPLE.entries()) {
    const mail = { from, subject: `Your order ${1_000 + n}`, html: `<p>Hello ${name}, your order is on its way.</p>` }
    await post('/emails', { ...mail, to: [`${name.toLowerCase()}@acme.org`] })
  }
  await post('/emails', { from, to: [`bounced@${simulator}`], subject: 'Your invoice', text: 'See below.' })
  const webhook = await post('/webhooks', { endpoint: 'https://app.acme.com/hooks/mail', events: ['*'] })
  const reply = { from: { name: 'Anna Smith', address: 'anna@acme.org' }, to: `hello@${domain}` }
  const text = 'Hello,\n\nthat sounds good. When can we talk?\n\nAnna'
  const received = await receive(
    openWork(t, world),
    account,
    await compose({ ...reply, subject: 'Re: News of March', text }),
  )
  return { campaign: campaign.id, automation: automation.id, webhook: webhook.id, delayed, received }
}

/** An email deferred by its receiver. The worker that delivers the others is not started yet. */
async function delay(from: string): Promise<string> {
  const sink = await openSink(t)
  const work = openWork(t, world, sink.url)
  const { id } = await post('/emails', {
    from,
    to: ['grey-9@acme.org'],
    subject: 'Your appointment',
    text: 'Tomorrow.',
  })
  await work.sender.offer([id])
  await work.sender.idle()
  return id
}

async function take(page: Page, name: string, path: string): Promise<void> {
  await page.goto(path)
  await page.waitForLoadState('networkidle')
  await page.screenshot({ path: join(DIRECTORY, `${name}.png`) })
}

mkdirSync(DIRECTORY, { recursive: true })
const ids = await fill()
const page = await dashboard.signIn('owner')
await page.setViewportSize(SIZE)
const pictures: Record<string, string> = {
  overview: '/',
  emails: '/emails',
  email: `/emails/${ids.delayed}`,
  captured: '/captured',
  received: `/received/${ids.received}`,
  campaign: `/campaigns/${ids.campaign}`,
  automation: `/automations/${ids.automation}`,
  contacts: '/contacts',
  domain: `/domains/${account.domain_id}`,
  webhook: `/webhooks/${ids.webhook}`,
}
for (const [name, path] of Object.entries(pictures)) await take(page, name, path)

t.end()

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Resend } from 'resend'
import t from 'tap'
import { createApiKey } from '#flows/accounts/create_api_key.ts'
import { startApi } from '#test/support/api.ts'
import { addRuns } from '#test/support/automation_definitions.ts'
import { ALLOWED } from '#test/support/http/fetching.ts'
import { compose, receive } from '#test/support/receiving.ts'
import { listMethods, recordCalls } from '#test/support/resend/record_calls.ts'
import { ROOT } from '#test/support/root.ts'
import { openWork } from '#test/support/sending.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { startHook } from '#test/support/webhooks/webhook_receiver.ts'
import { newAccount, openWorld } from '#test/support/world.ts'
import { startWorker } from '#workers/worker.ts'

const hook = await startHook(t)
const world = await openWorld(t, { FETCH_ALLOW: ALLOWED, FETCH_PORTS: String(hook.port) })
const account = await newAccount(world)
const other = await newAccount(world)
const key = await createApiKey(world.pool, world.secrets, {
  ...{ account_id: account.id, name: 'app', permission: 'full_access', domain_id: null, expires_at: null },
  default_domain_id: account.domain_id,
})
const api = await startApi(t, world, key)
world.config.BASE_URL = api.url // the port was not known before
const worker = await startWorker(world)
t.teardown(() => worker.stop())

const plain = new Resend(key, { baseUrl: `${api.url}/api` })
const { resend, outcomes } = recordCalls(plain)
const from = `Acme <hello@${account.domain}>`
const unknown = '01a20009-1136-75ca-8d25-9b84c176d8e8'

/** The id of what was created. */
const idOf = ({ data }: { data: unknown }) => (data as { id: string } | null)?.id ?? unknown
const until = async (path: string, isSo: (body: Answer) => boolean) =>
  waitUntil(async () => {
    const { body } = await api.request('GET', `/api${path}`)
    return isSo(body as unknown as Answer) && (body as unknown as Answer)
  }, path)
type Answer = { status: string; data: { id: string; status: string }[] }

t.test('the methods of the resend package for emails are called', async () => {
  const email = { from, to: 'anna@b.com', subject: 'Hi', html: '<p>Hi</p>' }
  const id = idOf(await resend.emails.send({ ...email, attachments: [{ filename: 'a.txt', content: 'eA==' }] }))
  await resend.emails.create(email)
  await resend.emails.get(id)
  await resend.emails.list()
  await resend.emails.metrics()
  await resend.emails.share(id)
  const { data: files } = await resend.emails.attachments.list({ emailId: id })
  await resend.emails.attachments.get({ emailId: id, id: files?.data[0]?.id ?? unknown })
  const later = idOf(await plain.emails.send({ ...email, scheduledAt: 'in 2 hours' }))
  await resend.emails.update({ id: later, scheduledAt: 'in 3 hours' })
  await resend.emails.cancel(later)
  await resend.batch.send([email, email])
  await resend.batch.create([email])
  await resend.usage.get()
})

t.test('the methods of the resend package for received emails are called', async t => {
  const raw = await compose({ subject: 'Hi', text: 'x', attachments: [{ filename: 'a.txt', content: 'x' }] })
  const id = await receive(openWork(t, world), account, raw)
  await resend.emails.receiving.list()
  await resend.emails.receiving.get(id)
  const { data: files } = await resend.emails.receiving.attachments.list({ emailId: id })
  await resend.emails.receiving.attachments.get({ emailId: id, id: files?.data[0]?.id ?? unknown })
  await resend.emails.receiving.forward({ emailId: id, to: 'ben@b.com', from })
})

t.test('the methods of the resend package for domains are called', async () => {
  const id = idOf(await resend.domains.create({ name: 'news.acme-of-resend.com' }))
  await resend.domains.list()
  await resend.domains.get(id)
  await resend.domains.update({ id, openTracking: false, tls: 'enforced' })
  await resend.domains.verify(id)
  await resend.domains.remove(id)
  const { data } = await resend.domains.claims.create({ name: other.domain })
  await resend.domains.claims.get(data?.domain_id ?? unknown)
  await resend.domains.claims.verify(data?.domain_id ?? unknown)
})

t.test('the methods of the resend package for contacts, segments, topics and imports are called', async () => {
  const property = idOf(await resend.contactProperties.create({ key: 'plan', type: 'string', fallbackValue: 'free' }))
  await resend.contactProperties.list()
  await resend.contactProperties.get(property)
  await resend.contactProperties.update({ id: property, fallbackValue: 'none' })
  const topic = idOf(await resend.topics.create({ name: 'News', defaultSubscription: 'opt_in' }))
  await resend.topics.list()
  await resend.topics.get(topic)
  await resend.topics.update({ id: topic, name: 'Newsletter' })
  for (const segments of [resend.segments, resend.audiences]) {
    const id = idOf(await segments.create({ name: 'Paying' }))
    await segments.list()
    await segments.get(id)
    await segments.update(id, { name: 'Customers' })
    await segments.remove(id)
  }
  const email = 'ada@b.com'
  const segmentId = idOf(await plain.segments.create({ name: 'By hand' }))
  const id = idOf(await resend.contacts.create({ email, firstName: 'Ada', properties: { plan: 'pro' } }))
  await resend.contacts.list()
  await resend.contacts.get(id)
  await resend.contacts.update({ id, lastName: 'L' })
  await resend.contacts.segments.add({ contactId: id, segmentId })
  await resend.contacts.segments.list({ contactId: id })
  await resend.contacts.segments.remove({ contactId: id, segmentId })
  await resend.contacts.topics.update({ id, topics: [{ id: topic, subscription: 'opt_out' }] })
  await resend.contacts.topics.list({ id })
  const imported = idOf(await resend.contacts.imports.create({ file: new Blob(['email\nben@b.com\n']) }))
  await resend.contacts.imports.list()
  await resend.contacts.imports.get(imported)
  await resend.contacts.remove(id)
  await resend.topics.remove(topic)
  await resend.contactProperties.remove(property)
})

t.test('the methods of the resend package for templates are called', async () => {
  const id = idOf(await resend.templates.create({ name: 'Welcome', html: '<p>Hi</p>', subject: 'Hi' }))
  await resend.templates.list()
  await resend.templates.get(id)
  await resend.templates.update(id, { subject: 'Hello' })
  await resend.templates.publish(id)
  await resend.templates.duplicate(id)
  await resend.templates.remove(id)
})

t.test('the methods of the resend package for broadcasts are called', async () => {
  await plain.contacts.create({ email: 'cara@b.com' })
  const given = { from, subject: 'March', html: '<p>Hi</p>', segmentId: account.domain_id }
  const id = idOf(await resend.broadcasts.create({ ...given, name: 'Spring' }))
  await resend.broadcasts.list()
  await resend.broadcasts.get(id)
  await resend.broadcasts.update(id, { subject: 'April' })
  const copy = idOf(await resend.broadcasts.duplicate(id))
  await resend.broadcasts.send(copy, { scheduledAt: 'in 2 hours' })
  await resend.broadcasts.cancel(copy)
  await resend.broadcasts.remove(copy)
  await resend.broadcasts.send(id)
  await resend.broadcasts.recipients(id, { type: 'delivered' })
  await resend.broadcasts.clickedLinks(id)
})

t.test('the methods of the resend package for events and automations are called', async () => {
  const event = idOf(await resend.events.create({ name: 'user.created', schema: { plan: 'string' } }))
  await resend.events.list()
  await resend.events.get(event)
  await resend.events.update(event, { schema: null })
  await resend.events.send({ event: 'user.created', email: 'dora@b.com' })
  await resend.events.remove(event)
  const steps = [
    { key: 'start', type: 'trigger', config: { eventName: 'user.created' } },
    { key: 'wait', type: 'delay', config: { duration: '1 hour' } },
  ] as const
  const connections = [{ from: 'start', to: 'wait' }]
  const given = { name: 'Welcome', steps: [...steps], connections }
  const id = idOf(await resend.automations.create(given))
  await resend.automations.list()
  await resend.automations.get(id)
  await resend.automations.update(id, { name: 'Hello' })
  await resend.automations.duplicate(id)
  const [runId = unknown] = await addRuns(world, account, id, [{ status: 'completed' }])
  await resend.automations.runs.list({ automationId: id })
  await resend.automations.runs.get({ automationId: id, runId })
  await resend.automations.stop(id)
  await resend.automations.remove(id)
})

t.test('the methods of the resend package for suppressions are called', async () => {
  const id = idOf(await resend.suppressions.add({ email: 'gone@b.com' }))
  await resend.suppressions.list()
  await resend.suppressions.get(id)
  await resend.suppressions.remove(id)
  await resend.suppressions.batch.add({ emails: ['a@b.com', 'b@b.com'] })
  await resend.suppressions.batch.remove({ emails: ['a@b.com'] })
})

t.test('the methods of the resend package for webhooks are called', async () => {
  const { data } = await resend.webhooks.create({ endpoint: hook.url, events: ['contact.created'] })
  const webhookId = data?.id ?? unknown
  await resend.webhooks.list()
  await resend.webhooks.get(webhookId)
  await plain.contacts.create({ email: 'emma@b.com' })
  const { headers, body } = await hook.until(({ json }) => json.type === 'contact.created')
  const signed = (name: string) => String(headers[`webhook-${name}`])
  resend.webhooks.verify({
    payload: body.toString(),
    headers: { id: signed('id'), timestamp: signed('timestamp'), signature: signed('signature') },
    webhookSecret: data?.signing_secret ?? '',
  })
  const { data: sent } = await until(`/webhooks/${webhookId}/events`, ({ data }) => data[0]?.status === 'success')
  const eventId = sent[0]?.id ?? unknown
  await resend.webhooks.events.list({ webhookId })
  await resend.webhooks.events.get({ webhookId, eventId })
  await resend.webhooks.events.attempts.list({ webhookId, eventId })
  await resend.webhooks.events.replay({ webhookId, eventId })
  await resend.webhooks.rotateSigningSecret(webhookId)
  await resend.webhooks.update(webhookId, { endpoint: `${hook.url}/2` })
  await resend.webhooks.remove(webhookId)
})

t.test('the methods of the resend package for logs are called', async () => {
  const { data } = await waitUntil(async () => {
    const found = await resend.logs.list()
    return (found.data?.data.length ?? 0) > 0 && found
  }, 'the log')
  await resend.logs.get(data?.data[0]?.id ?? unknown)
})

t.test('the methods of the resend package for API keys, grants and inboxes are called', async () => {
  await resend.apiKeys.list()
  await resend.apiKeys.create({ name: 'x' })
  await resend.apiKeys.update(unknown, { name: 'x' })
  await resend.apiKeys.remove(unknown)
  await resend.oauthGrants.list()
  await resend.oauthGrants.revoke(unknown)
  const { inboxes } = resend
  // There are no such routes, whatever the arguments are.
  const ids = {
    inboxId: unknown,
    inbox: unknown,
    threadId: unknown,
    emailId: unknown,
    labelId: unknown,
    draftId: unknown,
  }
  const call = async (resource: object, path: string[]) => {
    for (const name of methodsOf(path)) await (Reflect.get(resource, name) as Call)({ ...ids, id: unknown }, ids)
  }
  await call(inboxes, ['inboxes'])
  await call(inboxes.agent, ['inboxes', 'agent'])
  await call(inboxes.drafts, ['inboxes', 'drafts'])
  await call(inboxes.labels, ['inboxes', 'labels'])
  await call(inboxes.threads, ['inboxes', 'threads'])
  await call(inboxes.threads.emails, ['inboxes', 'threads', 'emails'])
  await call(inboxes.threads.labels, ['inboxes', 'threads', 'labels'])
})

type Call = (...args: unknown[]) => Promise<unknown>
const methodsOf = (path: string[]) =>
  listMethods(plain)
    .map(name => name.split('.'))
    .filter(words => words.slice(0, -1).join('.') === path.join('.'))
    .map(words => words.at(-1) as string)

t.test('docs/coming_from_resend.md lists the outcome of each method of the resend package', async t => {
  const page = await readFile(join(ROOT, 'docs/coming_from_resend.md'), 'utf8')
  const rows = [...page.matchAll(/^\| (`\w+(?:\.\w+)+`.*?) \| (works|`\w+ \w+`)/gm)]
  const told = rows.flatMap(([, methods = '', outcome = '']) =>
    [...methods.matchAll(/`([\w.]+)`/g)].map(([, name]) => [name as string, outcome.replaceAll('`', '')] as const),
  )
  const found = [...outcomes].map(([name, all]) => [name, [...all].join(', ')] as const)
  const sorted = (pairs: (readonly [string, string])[]) =>
    Object.fromEntries(pairs.toSorted(([one], [another]) => (one < another ? -1 : 1)))
  t.strictSame(sorted(found), sorted(told))
  t.strictSame(Object.keys(sorted(found)), listMethods(plain), 'each was called')
  const own = found.filter(([name]) => !name.startsWith('inboxes.'))
  const working = own.filter(([, outcome]) => outcome === 'works')
  t.match(page, `${working.length} of ${own.length} methods`)
})

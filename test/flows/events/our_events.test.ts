import t from 'tap'
import { z } from 'zod'
import { newId } from '#lib/ids.ts'
import { sql } from '#sql/pool.ts'
import { recordHits } from '#sql/tracking/hits.ts'
import { startApi } from '#test/support/api.ts'
import { storeAutomation, waitFor } from '#test/support/automation_runs.ts'
import { letWait, runsOf } from '#test/support/automations.ts'
import { addContacts } from '#test/support/campaigns.ts'
import { Imports } from '#test/support/contacts/imports.ts'
import { compose, receive } from '#test/support/receiving.ts'
import { acceptEmail, deliverEmails, openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { makeHit, makeTracked } from '#test/support/tracking.ts'
import { makeRecipient } from '#test/support/unsubscribing.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const { pg } = world.pool
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const work = openWork(t, world, 'capture')
const { domain } = account

const post = (path: string, body: object) => api.request('POST', `/api${path}`, { body })
const patch = (path: string, body: object) => api.request('PATCH', `/api${path}`, { body })

/** Returns the addresses of contacts that entered an automation, in order. */
const entered = async (automation: string) =>
  (await runsOf(world, automation)).map(({ contact_email }) => contact_email)

async function send(fields: object): Promise<string> {
  const id = await acceptEmail(world, account, fields as Record<string, unknown>)
  await deliverEmails(work, [id])
  return id
}

async function storedEvents(name: string): Promise<object[]> {
  const { rows } = await pg.query(
    'SELECT c.email, e.payload, e.enrolled FROM contact_events e JOIN contacts c ON c.id = e.contact_id WHERE e.name = $1 ORDER BY e.id',
    [name],
  )
  return rows
}

t.test('our own events are not stored if no automation needs them', async t => {
  await post('/contacts', { email: 'first@b.com', domain, unsubscribed: false })
  await patch(`/contacts/first@b.com`, { domain, unsubscribed: true })
  await send({ to: 'first@b.com' })
  const { rows } = await pg.query('SELECT FROM contact_events')
  t.equal(rows.length, 0)
})

t.test('contact.created fires for the API, and for batches and imports only if asked', async t => {
  const automation = await storeAutomation(world, account, [], { trigger: 'contact.created' })
  const { body } = await post('/contacts', { email: 'one@new.com', domain })
  await post('/contacts', { email: 'one@new.com', domain, first_name: 'One' })
  await post('/events/send', { event: 'x', email: 'two@new.com', domain })
  const contacts = (name: string) => [{ email: `${name}@new.com` }]
  await post('/contacts/batch', { contacts: contacts('silent'), domain })
  await post('/contacts/batch', { contacts: contacts('batch'), domain, trigger_automations: true })
  const imports = new Imports(api, account.key, work.importer)
  await imports.ofText('email\nquiet@new.com\n', { domain })
  await imports.ofText('email\nimported@new.com\none@new.com\n', { domain, trigger_automations: true })
  t.strictSame(await entered(automation), ['one@new.com', 'two@new.com', 'batch@new.com', 'imported@new.com'])
  const [run] = await runsOf(world, automation)
  t.strictSame(run?.payload, { contact_id: body.id, email: 'one@new.com' })
})

t.test('contact.unsubscribed fires for every way to unsubscribe', async t => {
  const names = ['api', 'page', 'batch', 'import', 'repeated', 'quiet']
  await addContacts(
    world,
    account,
    names.map(name => `${name}@out.com`),
  )
  const automation = await storeAutomation(world, account, [], { trigger: 'contact.unsubscribed' })
  await patch('/contacts/api@out.com', { domain, unsubscribed: true })
  await patch('/contacts/api@out.com', { domain, unsubscribed: true })
  await post('/contacts', { email: 'never@out.com', domain, unsubscribed: true })
  const { path } = await makeRecipient(world, account, 'page@out.com')
  for (const _ of [1, 2]) {
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    await api.request('POST', path, { headers: form, raw: 'List-Unsubscribe=One-Click', key: null })
  }
  const out = (name: string) => [{ email: `${name}@out.com`, unsubscribed: true }]
  await post('/contacts/batch', { contacts: out('quiet'), domain })
  const contacts = [...out('batch'), ...out('api')]
  await post('/contacts/batch', { contacts, domain, trigger_automations: true })
  const csv = 'email,unsubscribed\nimport@out.com,true\napi@out.com,true\nrepeated@out.com,\nrepeated@out.com,true\n'
  await new Imports(api, account.key, work.importer).ofText(csv, { domain, trigger_automations: true })
  const once = names.filter(name => name !== 'quiet')
  t.strictSame(
    await entered(automation),
    once.map(name => `${name}@out.com`),
  )
})

t.test('email.delivered and email.bounced fire for recipients that are contacts', async t => {
  const bounced = `bounced@${world.config.SIMULATOR_DOMAIN}`
  await addContacts(world, account, ['there@b.com', bounced])
  const delivered = await storeAutomation(world, account, [], { trigger: 'email.delivered' })
  const failed = await storeAutomation(world, account, [], { trigger: 'email.bounced' })
  const id = await send({ to: ['There@b.com', 'nobody@b.com'], subject: 'Hi' })
  await send({ to: bounced })
  const run = { contact_email: 'there@b.com', depth: 0, payload: { email_id: id, subject: 'Hi', email: 'there@b.com' } }
  shows(t, await runsOf(world, delivered), [run])
  shows(t, await runsOf(world, failed), [{ contact_email: bounced, payload: { bounce: { type: 'Permanent' } } }])
})

t.test('an automation is not started by its own mail', async t => {
  const [contact] = await addContacts(world, account, ['loop@b.com'])
  const own = await storeAutomation(world, account, [], { trigger: 'email.delivered' })
  const other = await storeAutomation(world, account, [], { trigger: 'email.delivered' })
  const id = await acceptEmail(world, account, { to: 'loop@b.com' })
  // Neither the order nor the ids tell which run sent the email: ids of runs and of emails come from different clocks.
  const sender = 'f1000000-0000-7000-8000-000000000000'
  for (const [run, depth] of [
    ['01000000-0000-7000-8000-000000000000', 0],
    [sender, 2],
    ['f2000000-0000-7000-8000-000000000000', 1],
  ]) {
    await pg.query(
      `INSERT INTO automation_runs (account_id, id, automation_id, version, domain_id, contact_id, contact_email, depth)
       VALUES ($1, $2, $3, 1, $4, $5, 'loop@b.com', $6)`,
      [account.id, run, own, account.domain_id, contact, depth],
    )
  }
  await pg.query(
    `INSERT INTO automation_run_steps (account_id, run_id, seq, step, status, output) VALUES ($1, $2, 1, 1, 'completed', $3)`,
    [account.id, sender, { email_id: id }],
  )
  await pg.query('UPDATE emails SET automation_id = $2 WHERE id = $1', [id, own])
  await deliverEmails(work, [id])
  t.equal((await runsOf(world, own)).length, 3)
  shows(t, await runsOf(world, other), [{ depth: 3, payload: { automation_id: own } }])
})

t.test('email.opened and email.clicked fire for people, once per email and link', async t => {
  const opened = await storeAutomation(world, account, [], { trigger: 'email.opened' })
  const clicked = await storeAutomation(world, account, [], { trigger: 'email.clicked' })
  await addContacts(world, account, ['reader@b.com'])
  const email = await makeTracked(world, account, { to: 'reader@b.com' })
  await recordHits(world.pool, [makeHit(email, null, -20_000, { class: 'machine', rule: 'x' })])
  t.strictSame(await runsOf(world, opened), [])
  await recordHits(world.pool, [
    makeHit(email, null),
    makeHit(email, null, 5, { class: 'proxy' }),
    makeHit(email, 0, 10_000),
  ])
  await recordHits(world.pool, [makeHit(email, null, 60_000), makeHit(email, 0, 70_000), makeHit(email, 2, 90_000)])
  await recordHits(world.pool, [makeHit(await makeTracked(world, account), null)])
  t.strictSame(await entered(opened), ['reader@b.com'])
  shows(t, await runsOf(world, clicked), [{ payload: { link: email.urls[0] } }, { payload: { link: email.urls[2] } }])

  await addContacts(world, account, ['no-images@b.com'])
  const plain = await makeTracked(world, account, { to: 'no-images@b.com' })
  await recordHits(world.pool, [makeHit(plain, 1)])
  await recordHits(world.pool, [makeHit(plain, null, 60_000), makeHit(plain, 0, 90_000)])
  t.strictSame(await entered(opened), ['reader@b.com', 'no-images@b.com'], 'a click counts as an open')
})

t.test('recording opens in an account with many contacts reads each row once', async t => {
  const many = await newAccount(world)
  await storeAutomation(world, many, [], { trigger: 'email.opened' })
  const emails = Array.from({ length: 400 }, (_, n) => `p${n}@many.com`)
  await addContacts(world, many, emails)
  const mails = await Promise.all(emails.slice(0, 40).map(to => makeTracked(world, many, { to })))
  const rows = await world.pool.transaction(async tx => {
    await recordHits(
      tx,
      mails.map(mail => makeHit(mail, null)),
    )
    return tx.one(sql.type(z.object({ contacts: z.int(), deliveries: z.int() }))`
      SELECT sum(r.rows) FILTER (WHERE relname = 'contacts')::integer AS contacts,
        sum(r.rows) FILTER (WHERE relname = 'deliveries')::integer AS deliveries
      FROM pg_stat_xact_user_tables CROSS JOIN LATERAL (SELECT seq_tup_read + idx_tup_fetch AS rows) r
    `)
  })
  t.ok(rows.contacts < 10 * mails.length && rows.deliveries < 20 * mails.length, JSON.stringify(rows))
  const { rowCount } = await pg.query('SELECT FROM automation_runs WHERE account_id = $1', [many.id])
  t.equal(rowCount, mails.length)
})

t.test('email.replied fires for the contact that replied', async t => {
  const automation = await storeAutomation(world, account, [], { trigger: 'email.replied' })
  const [ann] = await addContacts(world, account, ['ann@reply.com'])
  const id = await send({ to: 'ann@reply.com' })
  const { rows } = await pg.query('SELECT message_id FROM emails WHERE id = $1', [id])
  const answer = { inReplyTo: `<${rows[0].message_id}>`, text: 'Yes, I am interested.', subject: 'Re: Hello' }
  const received = await receive(work, account, await compose({ ...answer, from: 'ann@reply.com' }))
  await receive(work, account, await compose({ ...answer, from: 'stranger@reply.com', text: 'No' }))
  const payload = {
    ...{ email_id: id, contact_id: ann, subject: 'Hello', email: 'ann@reply.com' },
    ...{ received_email_id: received, category: 'interested' },
  }
  shows(t, await runsOf(world, automation), [{ contact_email: 'ann@reply.com', payload }])

  const [campaign_id, template_id] = [newId(), newId()]
  await pg.query('UPDATE emails SET contact_id = $2, campaign_id = $3, template_id = $4 WHERE id = $1', [
    ...[id, ann, campaign_id, template_id],
  ])
  await receive(work, account, await compose({ ...answer, from: 'assistant@reply.com' }))
  const [, second] = await runsOf(world, automation)
  shows(t, second, { contact_email: 'ann@reply.com', payload: { campaign_id, template_id } })
})

t.test('our own event wakes a run that waits for it', async t => {
  const automation = await storeAutomation(world, account, [waitFor('email.delivered')], { trigger: 'waits' })
  await pg.query('DELETE FROM automation_triggers WHERE event = $1', ['email.delivered'])
  const people = ['waiting@b.com', 'other@b.com']
  await addContacts(world, account, people)
  await post('/events/send', { event: 'waits', email: 'waiting@b.com', domain })
  for (const { id } of await runsOf(world, automation)) await letWait(world, id, 'email.delivered')
  const before = (await storedEvents('email.delivered')).length
  await send({ to: people })
  shows(t, await runsOf(world, automation), [{ is_due: true }])
  shows(t, (await storedEvents('email.delivered')).slice(before), [{ email: 'waiting@b.com', enrolled: 0 }])
})

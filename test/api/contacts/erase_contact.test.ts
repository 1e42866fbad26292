import t from 'tap'
import { newId } from '#lib/ids.ts'
import { sql } from '#sql/pool.ts'
import { startApi } from '#test/support/api.ts'
import { Imports } from '#test/support/contacts/imports.ts'
import { begin, untilBlocked } from '#test/support/database/locks.ts'
import { makePolled } from '#test/support/polls.ts'
import { compose, receive } from '#test/support/receiving.ts'
import { acceptEmail, deliverEmails, openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { addDomain, addOtherDomain, newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const work = openWork(t, world, 'capture')
const get = async (path: string) => (await api.request('GET', `/api${path}`)).body
const post = (path: string, body: object) => api.request('POST', `/api${path}`, { body })

t.test('DELETE /contacts/:id?erase=true erases all data of a person', async t => {
  const person = 'ann@erase.com'
  const { id } = (await post('/contacts', { email: person, domain: account.domain, first_name: 'Ann' })).body
  const alone = await acceptEmail(world, account, { to: person, subject: 'To Ann', text: 'For Ann alone' })
  const together = await acceptEmail(world, account, { to: [person, 'bob@y.com'], subject: 'To both' })
  await deliverEmails(work, [alone, together])
  const scheduled = await acceptEmail(world, account, { to: person, scheduled_at: 'in 2 hours' })
  const received = await receive(work, account, await compose({ from: person, text: 'From Ann' }))
  const other = await receive(work, account, await compose({ from: 'bob@y.com', text: 'From Bob' }))
  await post('/suppressions', { email: person })
  const campaign = newId()
  await world.pool.pg.query('INSERT INTO campaigns (account_id, id, domain_id) VALUES ($1, $2, $3)', [
    ...[account.id, campaign, account.domain_id],
  ])
  await world.pool.pg.query(
    `INSERT INTO campaign_recipients (account_id, campaign_id, contact_id, email, state) VALUES ($1, $2, $3, $4, 'x')`,
    [account.id, campaign, id, person],
  )

  await post('/events/send', { event: 'viewed', domain: account.domain, contact_id: id, payload: { phone: '1' } })
  const erased = { emails: 1, pending_emails: 1, received_emails: 1, suppressions: 1 }
  const { body } = await api.request('DELETE', `/api/contacts/${id}?erase=true`)
  t.strictSame(body, { object: 'contact', id, contact: id, deleted: true, erased })

  shows(t, await get(`/contacts/${id}`), { name: 'not_found' })
  shows(t, await get(`/emails/${alone}`), { to: [], subject: '', html: null, text: null, events: [{ type: 'sent' }] })
  shows(t, await get(`/emails/${together}`), { to: [person, 'bob@y.com'], subject: 'To both' })
  shows(t, await get(`/emails/${scheduled}`), { to: [person], status: 'scheduled' })
  shows(t, await get(`/emails/receiving/${received}`), { name: 'not_found' })
  shows(t, await get(`/emails/receiving/${other}`), { id: other })
  shows(t, await get(`/suppressions/${person}`), { name: 'not_found' })
  const { rows: recipients } = await world.pool.pg.query(
    'SELECT email FROM campaign_recipients WHERE contact_id = $1',
    [id],
  )
  t.strictSame(recipients, [{ email: null }])
  for (const table of ['contacts', 'contact_consents', 'contact_events', 'suppressions']) {
    const { rows } = await world.pool.pg.query(`SELECT FROM ${table} WHERE account_id = $1`, [account.id])
    t.equal(rows.length, 0, table)
  }

  const again = await post('/contacts', { email: person, domain: account.domain })
  shows(t, again.body, { first_name: null, unsubscribed: true })
})

t.test('erasing removes answers of a copied recipient, errors of imports and the address in the audit log', async t => {
  const person = 'ann@xn--mnchen-3ya.de'
  await post('/contacts', { email: person, domain: account.domain })
  const { email_id, paths } = await makePolled(world, account, { to: ['bob@y.com'], cc: [person] })
  for (const path of paths)
    await fetch(api.url + path, { method: 'POST', body: new URLSearchParams({ answer: 'great' }) })
  shows(t, await get(`/polls/${email_id}`), { responses_count: 2 })
  const file = 'email\nann@münchen.de\nann@münchen.de\nAnn <Ann@münchen.de>\njoann@münchen.de,x\n'
  const ended = await new Imports(api, account.key, work.importer).ofText(file)
  shows(t, ended, { counts: { skipped: 1, failed: 2 } })

  await api.request('PATCH', `/api/contacts/${person}`, { body: { first_name: 'Ann', domain: account.domain } })
  await api.request('DELETE', `/api/contacts/${person}?erase=true`)
  shows(t, await get(`/polls/${email_id}`), { responses_count: 1, responses: [{ email: 'bob@y.com' }] })
  shows(t, await get(`/contacts/imports/${ended.id}/errors`), { data: [{ email: 'joann@münchen.de' }] })
  const { rows } = await world.pool.pg.query('SELECT FROM audit_log WHERE target LIKE $1', ['%ann@%'])
  t.equal(rows.length, 0)
})

t.test('erasing searches errors of imports before it locks contacts of the account', async t => {
  const { body: contact } = await api.request('POST', '/api/contacts', {
    body: { email: 'twice@b.com', domain: account.domain },
  })
  const imported = { domain: account.domain }
  await new Imports(api, account.key, work.importer).ofText('email\ntwice@b.com\ntwice@b.com\n', imported)
  const other = await begin(world, tx => {
    return tx.run(sql.unsafe`SELECT FROM import_errors WHERE email = 'twice@b.com' FOR UPDATE`)
  })
  const erased = api.request('DELETE', `/api/contacts/${contact.id}?erase=true`)
  await untilBlocked(world, '%import_errors%')
  const { rows } = await world.pool.pg.query(
    `SELECT pg_try_advisory_xact_lock(hashtextextended('contacts ' || $1, 0)) AS is_free`,
    [account.id],
  )
  t.same(rows, [{ is_free: true }])
  await other.commit()
  shows(t, await erased, { status: 200 })
  t.same((await world.pool.pg.query(`SELECT FROM import_errors WHERE email = 'twice@b.com'`)).rows, [])
})

t.test('erasing deletes email that has the address several times', async t => {
  const person = 'copied@erase.com'
  const { id } = (await post('/contacts', { email: person, domain: account.domain })).body
  const copied = await acceptEmail(world, account, {
    to: person,
    cc: `Ann <${person.toUpperCase()}>`,
    subject: 'Twice',
  })
  await deliverEmails(work, [copied])
  shows(t, await api.request('DELETE', `/api/contacts/${id}?erase=true`), { body: { erased: { emails: 1 } } })
  shows(t, await get(`/emails/${copied}`), { to: [], subject: '' })
})

t.test(
  'erasing keeps errors of imports into another domain, and a suppression that protects a contact of it',
  async t => {
    const person = 'both@erase.com'
    const other = await addOtherDomain(world, account)
    const here = (await post('/contacts', { email: person, domain: account.domain })).body
    const there = (await post('/contacts', { email: person, domain: other.name })).body
    await post('/suppressions', { email: person, reason: 'complaint' })
    const file = `email\n${person}\n${person}\n`
    const imported = await new Imports(api, account.key, work.importer).ofText(file, { domain: other.name })

    const first = await api.request('DELETE', `/api/contacts/${here.id}?erase=true`)
    shows(t, first.body, { erased: { suppressions: 0 } })
    shows(t, await get(`/contacts/imports/${imported.id}/errors`), { data: [{ email: person }] })
    shows(t, await get(`/suppressions/${person}`), { reason: 'complaint' })
    const last = await api.request('DELETE', `/api/contacts/${there.id}?erase=true`)
    shows(t, last.body, { erased: { suppressions: 1 } })
    shows(t, await get(`/suppressions/${person}`), { name: 'not_found' })
    for (const domain of [account.domain, other.name]) {
      shows(t, (await post('/contacts', { email: person, domain })).body, { unsubscribed: true })
    }
  },
)

t.test('an address that is no contact any more is erased', async t => {
  const account = await newAccount(world)
  const call = async (method: string, path: string, body?: object) =>
    (await api.request(method, `/api${path}`, { body, key: account.key })).body
  const person = 'gone@erase.com'
  const { id } = await call('POST', '/contacts', { email: person, domain: account.domain })
  const sent = await acceptEmail(world, account, { to: person, text: 'For her alone' })
  await deliverEmails(work, [sent])
  await receive(work, account, await compose({ from: person, text: 'From her' }))
  await call('POST', '/suppressions', { email: person })
  await call('POST', '/events/send', {
    event: 'viewed',
    domain: account.domain,
    contact_id: id,
    payload: { phone: '1' },
  })
  const campaign = newId()
  const { pg } = world.pool
  await pg.query('INSERT INTO campaigns (account_id, id, domain_id) VALUES ($1, $2, $3)', [
    ...[account.id, campaign, account.domain_id],
  ])
  const recipients = [
    [id, person],
    [newId(), 'bob@erase.com'],
  ]
  for (const row of recipients)
    await pg.query(
      `INSERT INTO campaign_recipients (account_id, campaign_id, contact_id, email, state) VALUES ($1, $2, $3, $4, 'x')`,
      [account.id, campaign, ...row],
    )
  await call('DELETE', `/contacts/${id}`)

  shows(t, await call('DELETE', `/contacts/${id}?erase=true`), { name: 'not_found' })
  shows(t, await call('DELETE', `/contacts/${person}`), { name: 'not_found' })
  const erased = { emails: 1, pending_emails: 0, received_emails: 1, suppressions: 1 }
  const answer = { object: 'contact', id: person, contact: person, deleted: true }
  t.strictSame(await call('DELETE', `/contacts/Gone@erase.com?erase=true`), { ...answer, erased })
  shows(t, await call('GET', `/emails/${sent}`), { to: [], text: null })
  shows(t, await call('GET', `/suppressions/${person}`), { name: 'not_found' })
  const rows = async (query: string) => (await pg.query(query, [account.id])).rows
  t.strictSame(await rows('SELECT email FROM campaign_recipients WHERE account_id = $1 ORDER BY email'), [
    { email: 'bob@erase.com' },
    { email: null },
  ])
  t.strictSame(await rows('SELECT FROM contact_events WHERE account_id = $1'), [])

  const none = { emails: 0, pending_emails: 0, received_emails: 0, suppressions: 0 }
  t.strictSame(await call('DELETE', `/contacts/${person}?erase=true`), { ...answer, erased: none })
  shows(t, await call('POST', '/contacts', { email: person, domain: account.domain }), { unsubscribed: true })
  await call('DELETE', `/contacts/${person}`)
  await addDomain(world.pool, world.secrets, {
    ...{ account_id: account.id, id: newId(), name: `other.${account.domain}`, status: 'verified' },
  })
  const message = 'Missing `domain`: this account has no domain, or several.'
  shows(t, await call('DELETE', `/contacts/${person}?erase=true`), { statusCode: 422, message })
  shows(t, await call('DELETE', `/contacts/${person}?erase=true&domain=${account.domain}`), { id: person })
})

t.test(
  'erasing finds the runs of a contact that was deleted and created again, but none of another domain',
  async t => {
    const person = 'again@erase.com'
    const first = (await post('/contacts', { email: person, domain: account.domain })).body.id
    const other = await addOtherDomain(world, account, 'third')
    const { pg } = world.pool
    for (const [domain_id, contact_id] of [
      [account.domain_id, first],
      [other.id, newId()],
    ]) {
      await pg.query(
        `INSERT INTO automation_runs (account_id, id, automation_id, version, domain_id, contact_id, contact_email, status, due_at, payload)
       VALUES ($1, $2, $2, 1, $3, $4, $5, 'completed', NULL, '{"phone": "1"}')`,
        [account.id, newId(), domain_id, contact_id, person],
      )
      const campaign = newId()
      await pg.query('INSERT INTO campaigns (account_id, id, domain_id) VALUES ($1, $2, $3)', [
        ...[account.id, campaign, domain_id],
      ])
      await pg.query(
        `INSERT INTO campaign_recipients (account_id, campaign_id, contact_id, email, state) VALUES ($1, $2, $3, $4, 'x')`,
        [account.id, campaign, contact_id, person],
      )
    }
    await api.request('DELETE', `/api/contacts/${first}`)
    const { id } = (await post('/contacts', { email: person, domain: account.domain })).body
    shows(t, await api.request('DELETE', `/api/contacts/${id}?erase=true`), { body: { id } })
    const left = [{ domain_id: other.id }]
    t.strictSame(
      (await pg.query('SELECT domain_id FROM automation_runs WHERE contact_email = $1', [person])).rows,
      left,
    )
    const recipients = `SELECT g.domain_id FROM campaign_recipients r
    JOIN campaigns g ON g.account_id = r.account_id AND g.id = r.campaign_id WHERE r.email = $1`
    t.strictSame((await pg.query(recipients, [person])).rows, left)
  },
)

import { randomBytes, randomInt, randomUUID } from 'node:crypto'
import t from 'tap'
import { indexEmails } from '#flows/sending/index_emails.ts'
import { prepareTemplate } from '#flows/templates/change_template.ts'
import { SHORT_CONTENT } from '#sql/files/blobs.ts'
import { choosePlan, suppress } from '#test/support/database/states.ts'
import { compose, receive } from '#test/support/receiving.ts'
import { acceptEmail, deliverEmails, openWork } from '#test/support/sending.ts'
import { addWebhook } from '#test/support/webhooks/add_webhook.ts'
import { newAccount, openWorld, type TestAccount } from '#test/support/world.ts'

const world = await openWorld(t)
const { pg } = world.pool

type Reference = { name: string; table: string; columns: string[]; target: string; target_columns: string[] }

/** Every foreign key from or to a table with account_id, from the catalog. */
const { rows: references } = await pg.query<Reference>(`
  SELECT conname AS name, conrelid::regclass::text AS table, confrelid::regclass::text AS target,
    (SELECT array_agg(attname::text ORDER BY n) FROM unnest(conkey) WITH ORDINALITY AS k(num, n)
      JOIN pg_attribute ON attrelid = conrelid AND attnum = num) AS columns,
    (SELECT array_agg(attname::text ORDER BY n) FROM unnest(confkey) WITH ORDINALITY AS k(num, n)
      JOIN pg_attribute ON attrelid = confrelid AND attnum = num) AS target_columns
  FROM pg_constraint WHERE contype = 'f' AND connamespace = 'public'::regnamespace
`)
const { rows: columns } = await pg.query<{ table: string; name: string }>(`
  SELECT c.oid::regclass::text AS table, a.attname AS name
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
`)
const tenantTables = columns.filter(column => column.name === 'account_id').map(column => column.table)
const between = references.filter(({ table, target }) => tenantTables.includes(table) && tenantTables.includes(target))

const mine = await fill(await newAccount(world))
const theirs = await fill(await newAccount(world))

/** Columns that look like references but are none: their rows outlive the target, or the ids are external. */
const unbound = [
  ...['suppressions.source_email_id', 'emails.domain_id', 'emails.template_id', 'emails.message_id'],
  ...['emails.topic_id', 'deliveries.topic_id'],
  ...['email_metrics.domain_id', 'email_metrics.campaign_id'],
  ...['attachments.content_id', 'received_emails.message_id', 'received_attachments.content_id'],
  'kept_message_ids.message_id',
  // Removed in slices after the target is deleted.
  ...[
    'contacts.domain_id',
    'audience_members.audience_id',
    'audience_counts.audience_id',
    'segment_members.segment_id',
  ],
  ...['campaigns.domain_id', 'campaigns.audience_id', 'campaigns.segment_id', 'campaigns.topic_id'],
  ...['campaigns.template_id', 'campaigns.source_id', 'emails.campaign_id', 'emails.contact_id'],
  ...['deliveries.campaign_id', 'tracking_hits.email_id', 'campaign_recipients.email_id'],
  ...['campaign_recipients.campaign_id', 'campaign_recipients.contact_id', 'campaign_recipients.received_email_id'],
  ...['contact_topics.topic_id', 'contact_optouts.domain_id', 'contact_optouts.topic_id'],
  ...['former_contacts.domain_id', 'former_contacts.contact_id'],
  ...['contact_imports.domain_id', 'contact_imports.audience_id', 'contact_imports.source_id'],
  ...['contact_consents.domain_id', 'contact_consents.topic_id', 'contact_consents.source_id', 'contacts.source_id'],
  ...['contact_events.domain_id', 'contact_events.contact_id', 'emails.automation_id'],
  'contact_engagement.last_email_id',
  'deliveries.automation_id',
  ...['automations.domain_id', 'automations.source_id', 'automation_triggers.domain_id'],
  ...['email_contents.poll_id', 'polls.domain_id', 'polls.automation_id'],
  ...['automation_runs.automation_id', 'automation_runs.domain_id', 'automation_runs.contact_id'],
  'automation_clearings.automation_id',
  // A member may belong to several accounts.
  ...['memberships.member_id', 'sessions.member_id', 'member_links.member_id', 'audit_log.actor_id'],
]

t.test('every foreign key between tables of tenants begins with account_id on both sides', async t => {
  t.ok(between.length > 0)
  for (const { table, columns, target, target_columns } of between) {
    t.strictSame([columns[0], target_columns[0]], ['account_id', 'account_id'], `${table} ${target}`)
  }
})

t.test('every column with the id of another row has a foreign key', async t => {
  for (const { table, name } of columns.filter(column => tenantTables.includes(column.table))) {
    if (!name.endsWith('_id') || name === 'account_id' || unbound.includes(`${table}.${name}`)) continue
    t.ok(
      between.some(reference => reference.table === table && reference.columns.includes(name)),
      `${table}.${name}`,
    )
  }
})

t.test('every table of tenants refers to an account, directly or through another table', async t => {
  for (const table of tenantTables) {
    t.ok(
      references.some(reference => reference.table === table && reference.columns.includes('account_id')),
      table,
    )
  }
})

/** A copy of these rows would violate another key, so they are updated instead. */
const UPDATED = ['email_contents.content_id', 'polls.email_id', 'polls.campaign_id', 'poll_answers.poll_id']

for (const { name, table, columns: own, target, target_columns } of between) {
  const [, column = ''] = own
  const [, id = ''] = target_columns
  t.test(`a ${table} row cannot reference a ${column} of another account`, async t => {
    const { rows } = await pg.query(`SELECT "${id}" AS id FROM ${target} WHERE account_id = $1`, [theirs.id])
    const write = UPDATED.includes(`${table}.${column}`) ? updateReference : insertCopy
    await t.rejects(write(table, mine.id, column, rows[0].id), { code: '23503', constraint: name })
  })
}

async function fillMembers({ id }: TestAccount): Promise<void> {
  const member = randomUUID()
  await pg.query(`INSERT INTO members (id, email, name) VALUES ($1::uuid, $1::uuid || '@acme.com', 'Ann')`, [member])
  await pg.query(`INSERT INTO memberships (account_id, member_id, role) VALUES ($1, $2, 'owner')`, [id, member])
  await pg.query(
    `INSERT INTO sessions (hash, id, member_id, account_id, user_agent) VALUES (decode(md5($1::text), 'hex'), $1::uuid, $1::uuid, $2, '')`,
    [member, id],
  )
  await pg.query(
    `INSERT INTO member_links (hash, id, purpose, account_id, expires_at)
    VALUES (decode(md5($1::text), 'hex'), $1::uuid, 'invite', $2, now())`,
    [member, id],
  )
  await pg.query(
    `INSERT INTO audit_log (account_id, id, actor, actor_name, action) VALUES ($1, $2, 'operator', 'operator', 'x')`,
    [id, member],
  )
}

/** Inserts a row of the account into every table. */
async function fill(account: TestAccount): Promise<TestAccount> {
  await choosePlan(world, account, 'free') // usage is counted only for plans with limits
  const webhook = await addWebhook(world, account.id, { endpoint: 'https://hook.acme.com/', events: ['*'] })
  const long = Buffer.alloc(SHORT_CONTENT + 1).toString('base64')
  const id = await acceptEmail(world, account, { attachments: [{ filename: 'x', content: long }] })
  const work = openWork(t, world, 'capture')
  await deliverEmails(work, [id])
  await pg.query(`INSERT INTO kept_message_ids VALUES ($1, 'a@b.co', $2)`, [account.id, id])
  await pg.query(`INSERT INTO idempotency_keys VALUES ($1, '/emails', 'key', '', '{}')`, [account.id])
  await suppress(world, account.id, 'a@b.com')
  await world.pool.transaction(await prepareTemplate(account.id, { name: 'Hi', html: 'Hi' }))
  await pg.query(
    `INSERT INTO batches (account_id, id, state, deadline, indexes, errors, slice_size)
    VALUES ($1, $2, 'done', now(), '{}', '[]', 1)`,
    [account.id, randomUUID()],
  )
  const log = `INSERT INTO logs (account_id, created_at, method, endpoint, response_status, user_agent)
    VALUES ($1, now(), 'GET', '/emails', 200, 'test')`
  await pg.query(log, [account.id])
  await indexEmails(world.pool, { size: 1, lag_seconds: -60 })
  await pg.query('INSERT INTO warm_up_usage VALUES ($1, $2, now(), 1)', [account.id, account.domain_id])
  await pg.query('INSERT INTO ai_usage VALUES ($1, now(), 1)', [account.id])
  await pg.query('INSERT INTO contents (account_id, id) VALUES ($1, $2)', [account.id, id])
  await pg.query('UPDATE email_contents SET content_id = $2 WHERE account_id = $1 AND email_id = $2', [account.id, id])
  const party = [account.id, account.domain_id]
  await pg.query(`INSERT INTO domain_records VALUES ($1, $2, 'a.com', 'MX', 'verified')`, party)
  await pg.query(`INSERT INTO domain_claims (account_id, domain_id, id, token) VALUES ($1, $2, $3, 'x')`, [
    ...party,
    randomUUID(),
  ])
  const received = await receive(work, account, await compose({ attachments: [{ filename: 'x', content: 'x' }] }))
  await pg.query('UPDATE received_emails SET reply_to_email_id = $2 WHERE id = $1', [received, id])
  await pg.query(`INSERT INTO unapplied_reports VALUES ($1, $2, 'Unread.')`, [account.id, received])
  await pg.query(
    `INSERT INTO webhook_attempts (account_id, event_id, webhook_id, attempt, id, ms, created_at)
    SELECT account_id, event_id, webhook_id, 1, gen_random_uuid(), 1, now() FROM webhook_deliveries WHERE webhook_id = $1`,
    [webhook.id],
  )
  await fillContacts(account)
  await fillMembers(account)
  for (const table of tenantTables) {
    const { rows } = await pg.query(`SELECT FROM ${table} WHERE account_id = $1`, [account.id])
    if (rows.length === 0) throw new Error(`${table}: give it a row here`)
  }
  return account
}

async function fillContacts({ id, domain_id }: TestAccount): Promise<void> {
  const [contact, topic] = [randomUUID(), randomUUID()]
  await pg.query(
    `INSERT INTO contact_properties (account_id, id, key, stored_as, type) VALUES ($1, $2, 'a', 'a', 'string')`,
    [id, randomUUID()],
  )
  await pg.query(
    `INSERT INTO contacts (account_id, id, domain_id, email, source) VALUES ($1, $2, $3, 'a@b.co', 'api')`,
    [...[id, contact, domain_id]],
  )
  await pg.query('INSERT INTO campaigns VALUES ($1, $2, $3)', [id, topic, domain_id])
  await pg.query('INSERT INTO campaign_recipients VALUES ($1, $2, $3)', [id, topic, contact])
  await pg.query('INSERT INTO campaign_runs VALUES ($1, $2, 1)', [id, topic])
  await pg.query(`INSERT INTO campaign_counts VALUES ($1, $2, 1, 0, 'sent', 0, 1)`, [id, topic])
  await pg.query('INSERT INTO contents (account_id, id) VALUES ($1, $2)', [id, topic])
  await pg.query(`INSERT INTO campaign_variants VALUES ($1, $2, 1, 'A', 'a@b.co', 'x', $2)`, [id, topic])
  await pg.query(`INSERT INTO campaign_links VALUES ($1, $2, 0, 0, 'https://acme.com')`, [id, topic])
  await pg.query(
    `INSERT INTO tracking_hits (account_id, delivery_id, id, email_id, type, class, rule, created_at)
    SELECT account_id, id, gen_random_uuid(), email_id, 'open', 'human', 'none', now() FROM deliveries WHERE account_id = $1`,
    [id],
  )
  await pg.query(`INSERT INTO polls (account_id, id, domain_id, question, options) VALUES ($1, $2, $3, 'x', '[]')`, [
    ...[id, randomUUID(), domain_id],
  ])
  await pg.query(
    `INSERT INTO poll_answers (account_id, delivery_id, poll_id, option)
     SELECT d.account_id, d.id, p.id, 'x' FROM deliveries d JOIN polls p USING (account_id) WHERE d.account_id = $1 LIMIT 1`,
    [id],
  )
  await pg.query(`INSERT INTO poll_counts SELECT account_id, id, 'x', 0, 1 FROM polls WHERE account_id = $1`, [id])
  await pg.query('INSERT INTO contact_engagement VALUES ($1, $2)', [id, contact])
  await pg.query('INSERT INTO audience_members VALUES ($1, $2, $3)', [id, domain_id, contact])
  await pg.query('INSERT INTO segment_members VALUES ($1, $2, $3)', [id, domain_id, contact])
  await pg.query(`INSERT INTO topics VALUES ($1, $2, $3, 'a', NULL, 'opt_in', 'public')`, [id, topic, domain_id])
  await pg.query(`INSERT INTO contact_topics VALUES ($1, $2, $3, 'opt_out')`, [id, contact, topic])
  await pg.query(`INSERT INTO contact_optouts VALUES ($1, $2, '\\x00')`, [id, domain_id])
  await pg.query(`INSERT INTO former_contacts VALUES ($1, $2, '\\x00', $3)`, [id, domain_id, randomUUID()])
  await pg.query(`INSERT INTO contact_consents VALUES ($1, $2, '\\x00', $3, NULL, 'opt_out', 'api')`, [
    ...[id, domain_id, randomUUID()],
  ])
  const { rows: blobs } = await pg.query('SELECT id FROM blobs WHERE account_id = $1 LIMIT 1', [id])
  const file = randomUUID()
  await pg.query(
    `INSERT INTO contact_imports (account_id, id, domain_id, blob_id, options) VALUES ($1, $2, $3, $4, '{}')`,
    [id, file, domain_id, blobs[0].id],
  )
  await pg.query(`INSERT INTO import_errors VALUES ($1, $2, 1, 2, NULL, 'failed', 'x')`, [id, file])
  await pg.query('UPDATE api_keys SET default_domain_id = $2 WHERE account_id = $1', [id, domain_id])
  await fillAutomations({ id, domain_id }, contact)
}

async function fillAutomations(
  { id, domain_id }: Pick<TestAccount, 'id' | 'domain_id'>,
  contact: string,
): Promise<void> {
  const [automation, run] = [randomUUID(), randomUUID()]
  await pg.query(`INSERT INTO event_definitions VALUES ($1, $2, 'order.placed')`, [id, randomUUID()])
  await pg.query(`INSERT INTO contact_events VALUES ($1, $2, $3, $4, 'order.placed')`, [id, run, domain_id, contact])
  await pg.query(`INSERT INTO automations VALUES ($1, $2, $3, 'Welcome')`, [id, automation, domain_id])
  await pg.query(`INSERT INTO automation_versions VALUES ($1, $2, 1, $3)`, [
    ...[id, automation, '{"steps":[{"type":"wait_for_event","config":{"event_name":"order.paid"}}]}'],
  ])
  await pg.query('INSERT INTO automation_usage VALUES ($1, now(), 1)', [id])
  await pg.query('INSERT INTO automation_clearings VALUES ($1, $2)', [id, automation])
  await pg.query(`INSERT INTO automation_triggers VALUES ($1, $2, 'order.placed', $3)`, [id, domain_id, automation])
  await pg.query(`INSERT INTO automation_runs VALUES ($1, $2, $3, 1, $4, $5, 'a@b.co')`, [
    ...[id, run, automation, domain_id, contact],
  ])
  await pg.query(`INSERT INTO automation_run_steps VALUES ($1, $2, 1, 0, 'completed')`, [id, run])
}

/** Copies a row of the account with another reference, and new values for columns that must be unique. */
async function insertCopy(table: string, account_id: string, column: string, id: string): Promise<void> {
  const { rows: unique } = await pg.query<{ name: string; type: string }>(
    `SELECT a.attname AS name, format_type(a.atttypid, NULL) AS type
     FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[i.indnkeyatts - 1]
     JOIN pg_attribute changed ON changed.attrelid = i.indrelid AND changed.attname = $2
     WHERE i.indrelid = $1::regclass AND i.indisunique AND changed.attnum <> ALL (i.indkey)`,
    [table, column],
  )
  const fresh = unique.map(({ name, type }) => [name, freshValue(type)])
  await pg.query(
    `INSERT INTO ${table} OVERRIDING SYSTEM VALUE
     SELECT (jsonb_populate_record(t, $2)).* FROM ${table} t WHERE account_id = $1 LIMIT 1`,
    [account_id, JSON.stringify({ ...Object.fromEntries(fresh), [column]: id })],
  )
}

async function updateReference(table: string, account_id: string, column: string, id: string): Promise<void> {
  await pg.query(`UPDATE ${table} SET "${column}" = $2 WHERE account_id = $1`, [account_id, id])
}

function freshValue(type: string): unknown {
  if (type === 'uuid') return randomUUID()
  if (type === 'integer') return randomInt(2 ** 31)
  if (type === 'smallint') return randomInt(2 ** 15)
  return type === 'bytea' ? `\\x${randomBytes(16).toString('hex')}` : randomBytes(8).toString('hex')
}

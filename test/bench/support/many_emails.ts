import type pg from 'pg'

const COUNT = 1_000_000
const COST_COUNT = 100_000
const BATCH = 50
export const TEMPLATE_ID = '01a1fe06-bc30-74e2-b59b-779a16313e3d'

/** Microseconds per email, and the fraction of updates that changed no index (HOT). */
export type Cost = { insert_us: number; update_us: number; hot: number }

/** The cost for 100,000 emails, in commits of 50, in a table with only the primary key and in the real one. */
export async function measureCost(client: pg.Client, account_id: string): Promise<{ before: Cost; after: Cost }> {
  await client.query('CREATE TABLE bare (LIKE emails INCLUDING ALL EXCLUDING INDEXES) WITH (fillfactor = 80)')
  await client.query('ALTER TABLE bare ADD PRIMARY KEY (account_id, id)')
  const before = await costOf(client, account_id, 'bare')
  const after = await costOf(client, account_id, 'emails')
  await client.query('DROP TABLE bare')
  await client.query('TRUNCATE emails CASCADE')
  return { before, after }
}

async function costOf(client: pg.Client, account_id: string, table: string): Promise<Cost> {
  const [from, to] = [`${BATCH} * (b - 1) + 1`, `${BATCH} * b`]
  const insert_us = await timeBatches(client, insertInto(table, account_id, from, to, "'queued'"))

  await client.query(`CREATE TEMP TABLE pieces AS SELECT id, row_number() OVER (ORDER BY id) AS n FROM ${table}`)
  await client.query('CREATE INDEX ON pieces (n)')
  const update_us = await timeBatches(
    client,
    `UPDATE ${table} SET status = 'delivered', last_event = 'delivered', sent_at = now(), updated_at = now()
     WHERE account_id = '${account_id}' AND id IN (SELECT id FROM pieces WHERE n BETWEEN ${from} AND ${to})`,
  )
  await client.query('DROP TABLE pieces')

  await client.query('SELECT pg_stat_force_next_flush()')
  const { rows } = await client.query('SELECT n_tup_hot_upd AS hot FROM pg_stat_user_tables WHERE relname = $1', [
    table,
  ])
  return { insert_us, update_us, hot: rows[0].hot / COST_COUNT }
}

async function timeBatches(client: pg.Client, statement: string): Promise<number> {
  const start = performance.now()
  await client.query(`DO $$ BEGIN FOR b IN 1..${COST_COUNT / BATCH} LOOP ${statement}; COMMIT; END LOOP; END $$`)
  return ((performance.now() - start) * 1_000) / COST_COUNT
}

/** A million emails of the last twelve weeks; their indexes are rebuilt at once. */
export async function fillEmails(client: pg.Client, account_id: string): Promise<void> {
  await client.query(
    `INSERT INTO domains (account_id, id, name)
     SELECT $1, gen_random_uuid(), 'd' || n || '.bench.com' FROM generate_series(0, 9) AS n`,
    [account_id],
  )
  const { rows } = await client.query(`
    SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition
    FROM pg_index WHERE indrelid = 'emails'::regclass AND NOT indisprimary
  `)
  await client.query("SET maintenance_work_mem = '1GB'; SET session_replication_role = replica")
  for (const { name } of rows) await client.query(`DROP INDEX ${name}`)
  await client.query(insertInto('emails', account_id, '1', String(COUNT), STATUS))
  for (const { definition } of rows) await client.query(definition)
  await client.query('VACUUM ANALYZE emails')
}

const STATUS = `
  CASE WHEN n % 1000 = 1 THEN 'complained' WHEN n % 1000 < 20 THEN 'bounced' WHEN n % 1000 < 25 THEN 'failed'
    WHEN n % 1000 < 27 THEN 'scheduled' WHEN n % 1000 < 30 THEN 'suppressed' WHEN n > 999900 THEN 'queued'
    ELSE 'delivered' END
`

function insertInto(table: string, account_id: string, from: string, to: string, status: string): string {
  return `
    INSERT INTO ${table} (account_id, id, domain_id, message_id, sender, "to", cc, bcc, reply_to, subject, tags, template_id,
      status, last_event, created_at)
    SELECT '${account_id}', uuidv7(shift), d.id, gen_random_uuid() || '@' || domain, 'Shop <shop@' || domain || '>',
      ARRAY['user' || n % 50000 || '@mail' || n % 7 || '.com'], '{}', '{}', '{}',
      'Invoice ' || left(md5(n::text), 8) || ' for order ' || n || ' of today',
      CASE WHEN n % 10000 = 7 THEN '[{"name":"kind","value":"rare"}]'
        WHEN n % 10 < 3 THEN '[{"name":"kind","value":"welcome"}]' ELSE '[]' END::jsonb,
      CASE WHEN n % 10 = 4 THEN '${TEMPLATE_ID}'::uuid END,
      v.status, CASE WHEN v.status = 'delivered' AND n % 20 = 0 THEN 'clicked'
        WHEN v.status = 'delivered' AND n % 5 = 0 THEN 'opened' ELSE v.status END, now() + shift
    FROM generate_series(${from}, ${to}) AS n
    CROSS JOIN LATERAL (SELECT ${status} AS status, (n - ${COUNT}) * interval '7.2 seconds' AS shift,
      CASE WHEN n < ${COUNT / 10} THEN 'd9.bench.com' ELSE 'd0.bench.com' END AS domain) AS v
    LEFT JOIN domains d ON d.account_id = '${account_id}' AND d.name = domain
  `
}

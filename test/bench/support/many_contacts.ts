import { newId } from '#lib/ids.ts'
import type { Pool } from '#sql/pool.ts'
import { inPatientSession } from '#test/bench/support/patient_session.ts'
import type { Stage } from '#test/bench/support/stage.ts'

const KEYS = {
  ...{ plan: 'string', tier: 'string', city: 'string', company: 'string', note: 'string', language: 'string' },
  ...{ seats: 'number', score: 'number', age: 'number', orders: 'number' },
}

export type Fill = { account_id: string; domain_id: string; campaign_id: string; rare_campaign_id: string }

/** A domain with many contacts with 10 properties: half were sent one campaign, 0.2 % another; half of those opened it. */
export async function fillContacts({ pool }: Stage, account_id: string, name: string, count: number): Promise<Fill> {
  const [domain_id, campaign_id, rare_campaign_id] = [newId(), newId(), newId()]
  await pool.pg.query('INSERT INTO domains (account_id, id, name) VALUES ($1, $2, $3)', [account_id, domain_id, name])
  for (const id of [campaign_id, rare_campaign_id]) {
    await pool.pg.query('INSERT INTO campaigns VALUES ($1, $2, $3)', [account_id, id, domain_id])
  }
  const slice = 50_000
  for (let from = 1; from <= count; from += slice) {
    const upto = Math.min(count, from + slice - 1)
    await runPatiently(pool, CONTACTS, [account_id, domain_id, from, upto])
  }
  await runPatiently(pool, RECIPIENTS, [account_id, domain_id, campaign_id, 2])
  await runPatiently(pool, RECIPIENTS, [account_id, domain_id, rare_campaign_id, 500])
  return { account_id, domain_id, campaign_id, rare_campaign_id }
}

export async function addProperties({ pg }: Pool, account_id: string): Promise<void> {
  for (const [key, type] of Object.entries(KEYS)) {
    await pg.query(
      'INSERT INTO contact_properties (account_id, id, key, stored_as, type) VALUES ($1, $2, $3, $3, $4)',
      [...[account_id, newId(), key, type]],
    )
  }
}

/** Adds rows without indexes and triggers, as fast as possible; returns the statements that create the indexes. */
export async function dropIndexes(pool: Pool): Promise<() => Promise<void>> {
  const { pg } = pool
  const { rows } = await pg.query(`
    SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition
    FROM pg_index WHERE indrelid = 'contacts'::regclass AND NOT indisunique
  `)
  for (const { name } of rows) await pg.query(`DROP INDEX ${name}`)
  return async () => {
    for (const { definition } of rows) await runPatiently(pool, definition)
    await runPatiently(pool, 'VACUUM ANALYZE')
  }
}

function runPatiently(pool: Pool, text: string, values: unknown[] = []): Promise<unknown> {
  return inPatientSession(pool, async run => {
    await run("SET maintenance_work_mem = '512MB'")
    return run(text, values)
  })
}

const CONTACTS = `
  INSERT INTO contacts (account_id, id, domain_id, email, first_name, last_name, unsubscribed, properties, source, created_at)
  SELECT $1, uuidv7(shift), $2, 'user' || n || '@mail' || n % 7 || '.com', 'First' || n % 500, 'Last' || n % 900, n % 20 = 0,
    jsonb_build_object(
      'plan', CASE WHEN n % 10 = 0 THEN 'pro' ELSE 'free' END, 'tier', CASE WHEN n % 1000 = 7 THEN 'gold' ELSE 'none' END,
      'city', 'City ' || n % 100, 'company', 'Company ' || left(md5(n::text), 8),
      'note', 'Met at fair ' || n % 1000 || ' in hall ' || n % 3, 'language', (ARRAY['en', 'de', 'fr', 'es'])[n % 4 + 1],
      'seats', n * 7919 % 1000, 'score', n * 104729 % 100000 / 100.0, 'age', 18 + n % 60, 'orders', n % 13
    ), 'import', now() + shift
  FROM generate_series($3::bigint, $4::bigint) AS n, LATERAL (SELECT (n - 1000000) * interval '7.2 seconds' AS shift) AS s
`

/** One contact in this many; every second of them opened it. */
const RECIPIENTS = `
  INSERT INTO campaign_recipients (account_id, campaign_id, contact_id, sent_at, first_opened_at)
  SELECT $1, $3, id, now(), CASE WHEN n / $4 % 2 = 0 THEN now() END
  FROM (SELECT id, row_number() OVER () AS n FROM contacts WHERE account_id = $1 AND domain_id = $2) c WHERE n % $4 = 0
`

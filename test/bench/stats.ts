import { ask, PORT } from '#test/bench/support/campaigns.ts'
import { dropIndexes } from '#test/bench/support/many_contacts.ts'
import { inPatientSession } from '#test/bench/support/patient_session.ts'
import { openStage, percentile, report, type Stage } from '#test/bench/support/stage.ts'

const MANY = Number(process.env.BENCH_RECIPIENTS ?? 1_000_000)
const FEW = 10_000
const SAMPLES = 41
const GOAL = 3

/** GET /campaigns/:id/stats and /engagement of a campaign with a million recipients, compared with ten thousand. */
export async function benchStats(): Promise<void> {
  const stage = await openStage()
  try {
    await stage.spawn('workers/web.ts', { PORT })
    await dropIndexes(stage.pool) // indexes for searches of contacts are not needed
    const few = await fillCampaign(stage, FEW)
    const many = await fillCampaign(stage, MANY)
    for (const table of ['campaign_recipients', 'contacts', 'received_emails'])
      await stage.pool.pg.query(`ANALYZE ${table}`)
    for (const path of ['stats', 'engagement']) {
      const times: { few: number[]; many: number[] } = { few: [], many: [] }
      for (let n = -3; n < SAMPLES; n++) {
        const [of_few, of_many] = [await time(stage, few, path), await time(stage, many, path)]
        if (n < 0) continue // a warm-up, not counted
        times.few.push(of_few)
        times.many.push(of_many)
      }
      const [small, large] = [percentile(times.few, 0.5), percentile(times.many, 0.5)]
      const figure = `p50 ${large.toFixed(1)} ms, with ${FEW} recipients ${small.toFixed(1)} ms, ${(large / small).toFixed(2)}x`
      report(`${path} of ${MANY} recipients`, figure, `<= ${GOAL}x`, large / small <= GOAL)
    }
  } finally {
    await stage.close()
  }
}

async function time(stage: Stage, id: string, path: string): Promise<number> {
  const start = performance.now()
  await ask(stage, 'GET', `/campaigns/${id}/${path}`)
  return performance.now() - start
}

/** A sent campaign: a third of the recipients opened it, 1 in 16 clicked a link and 1 in 20 replied. */
async function fillCampaign({ pool }: Stage, count: number): Promise<string> {
  return inPatientSession(pool, async run => {
    await run('SET session_replication_role = replica') // skips the triggers of each row
    const { rows } = await run(
      `WITH added AS (
        INSERT INTO domains (account_id, id, name) SELECT id, gen_random_uuid(), $1 FROM accounts RETURNING account_id, id
      )
      INSERT INTO campaigns (account_id, id, domain_id, name, status, subject)
      SELECT account_id, gen_random_uuid(), id, 'News', 'sent', 'News' FROM added RETURNING account_id, id, domain_id`,
      [`of-${count}.bench.com`],
    )
    const { account_id, id, domain_id } = rows[0]
    await run('INSERT INTO campaign_runs (account_id, campaign_id, run, finished_at) VALUES ($1, $2, 1, now())', [
      ...[account_id, id],
    ])
    for (let from = 1; from <= count; from += SLICE) {
      await run(RECIPIENTS, [account_id, id, domain_id, from, Math.min(count, from + SLICE - 1)])
    }
    await run(REPLIES, [account_id, id, domain_id])
    await run(COUNTS, [account_id, id, count])
    await run(LINKS, [account_id, id, count])
    return id
  })
}

/** Contacts per statement. */
const SLICE = 50_000

/** A reply has the id of its contact. */
const RECIPIENTS = `
  WITH added AS (
    INSERT INTO contacts (account_id, id, domain_id, email, source)
    SELECT $1, uuidv7(), $3, n || '@b.com', 'import' FROM generate_series($4::integer, $5::integer) AS n
    RETURNING id, email, split_part(email, '@', 1)::integer AS n
  )
  INSERT INTO campaign_recipients (account_id, campaign_id, run, contact_id, email, state, email_id, sent_at, opens, clicks,
    first_opened_at, first_clicked_at, replied_at, received_email_id)
  SELECT $1, $2::uuid, 1, c.id, c.email, 'm', c.id, now(), (n % 3 = 0)::integer, (n % 16 = 0)::integer,
    CASE WHEN n % 3 = 0 THEN at END, CASE WHEN n % 16 = 0 THEN at END, CASE WHEN n % 20 = 0 THEN at END,
    CASE WHEN n % 20 = 0 THEN c.id END
  FROM added c CROSS JOIN LATERAL (SELECT now() - random() * interval '30 days' * (n > 0)::integer AS at) a`

const REPLIES = `
  WITH replies AS (
    INSERT INTO received_emails (account_id, id, domain_id, state, mail_from, received_for, client, sha256, size, subject)
    SELECT r.account_id, r.received_email_id, $3, 'parsed', r.email, '{a@sandbox.internal}', '{}', sha256(r.email::bytea), 900,
      'Re: News'
    FROM campaign_recipients r WHERE r.account_id = $1 AND r.campaign_id = $2 AND r.received_email_id IS NOT NULL
    RETURNING account_id, id
  )
  INSERT INTO received_contents (account_id, received_email_id, headers, text)
  SELECT account_id, id, '{}', repeat('Thank you. ', 40) FROM replies`

/** Updated by as many processes as there are shards. */
const COUNTS = `
  INSERT INTO campaign_counts (account_id, campaign_id, run, variant, name, shard, count)
  SELECT $1, $2, 1, 0, name, shard, $3::integer / 16
  FROM unnest(ARRAY['recipients', 'sent', 'delivered', 'bounced', 'complained', 'failed', 'suppressed', 'excluded', 'delayed',
    'opened', 'unique_opened', 'mpp_opened', 'machine_opened', 'clicked', 'unique_clicked', 'machine_clicked', 'replied',
    'unsubscribed']) AS name, generate_series(0, 15) AS shard`

const LINKS = `
  INSERT INTO campaign_links (account_id, campaign_id, run, variant, link, url, clicks, unique_clicks)
  SELECT $1, $2, 1, 0, n, 'https://acme.com/' || n, $3::integer / n, $3::integer / (2 * n) FROM generate_series(1, 30) AS n`

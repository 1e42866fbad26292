import type { Foundation } from '#flows/process/run_process.ts'
import type { QueuedCampaign } from './campaigns.ts'

/** Moves the times of a recurring campaign back so that its next run is due, for this long already. */
export async function makeNextRunDue(
  { pool }: Pick<Foundation, 'pool'>,
  { campaign_id }: QueuedCampaign,
  late = '1 second',
): Promise<void> {
  await pool.pg.query(
    `WITH passing AS MATERIALIZED (
      SELECT scheduled_at - date_trunc('milliseconds', now()) + $2::interval AS time FROM campaigns WHERE id = $1
    ), runs AS (
      UPDATE campaign_runs SET scheduled_at = scheduled_at - p.time, created_at = created_at - p.time FROM passing p
      WHERE campaign_id = $1
    ), polls AS (
      UPDATE polls SET created_at = created_at - p.time FROM passing p WHERE campaign_id = $1
    )
    UPDATE campaigns SET first_run_at = first_run_at - p.time, scheduled_at = scheduled_at - p.time FROM passing p WHERE id = $1`,
    [campaign_id, late],
  )
  await pool.pg.query('UPDATE graphile_worker._private_jobs SET run_at = now() WHERE key = $1', [
    `start_campaigns ${campaign_id}`,
  ])
}

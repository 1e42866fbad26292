import pg from 'pg'
import { ROOT } from '#test/support/root.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { Release } from './release.ts'

/** `paused`: a second domain, which a test may pause. */
export type Account = { name: string; domain: string; paused: string; key: string }

/** Two releases on one database, which only the earlier one has migrated yet. */
export type Upgrade = {
  url: string
  earlier: Release
  later: Release
  account: Account
  pool: { pg: pg.Pool }
  close(): Promise<void>
}

/** Migrates an empty database and adds an account with the commands of the release, which alone know its schema. */
export async function prepareDatabase(release: Release): Promise<Account> {
  await release.migrate()
  const names = { name: 'upgrade', domain: 'upgrade.acme.com', paused: 'paused.acme.com' }
  await release.admin('account', 'create', '--name', names.name)
  const [lines] = await Promise.all([
    release.admin('key', 'create', '--account', names.name, '--name', 'upgrade'),
    release.admin('domain', 'add', names.domain, '--account', names.name, '--verified'),
    release.admin('domain', 'add', names.paused, '--account', names.name, '--verified'),
  ])
  const key = lines.find(line => line.startsWith('mb_'))
  if (!key) throw new Error(`no key: ${lines}`)
  return { ...names, key }
}

/** `directory`: the earlier release; `url`: a database that it has prepared. */
export function openUpgrade(directory: string, url: string, account: Account): Upgrade {
  const pool = { pg: new pg.Pool({ connectionString: url }) }
  const [earlier, later] = [new Release(directory, url), new Release(ROOT, url)]
  const close = async () => {
    await Promise.all([earlier.stop(), later.stop(), pool.pg.end()])
  }
  return { url, earlier, later, account, pool, close }
}

/**
 * Waits until nothing is left to do within an hour. Deferred emails are made due; a relay that hangs may pause for a while.
 * Scheduled emails keep their times.
 */
export async function waitForEnd({ pool }: Pick<Upgrade, 'pool'>): Promise<void> {
  const soon = `d.next_at < now() + interval '1 hour'`
  await waitUntil(async () => {
    await pool.pg.query(
      `UPDATE deliveries d SET next_at = now() FROM emails e
       WHERE d.account_id = e.account_id AND d.email_id = e.id AND e.scheduled_at IS NULL
         AND d.state IN ('queued', 'in_doubt') AND d.next_at > now() AND ${soon}`,
    )
    const { rowCount } = await pool.pg.query(
      `SELECT FROM deliveries d WHERE d.state = 'sending' OR d.state IN ('queued', 'in_doubt') AND ${soon}`,
    )
    return rowCount === 0
  }, 'all mail is settled')
}

/** For the local part of each recipient: the state of the delivery, its phase if it is being sent, and the attempts. */
export async function readStates({ pool }: Pick<Upgrade, 'pool'>): Promise<Record<string, string>> {
  const { rows } = await pool.pg.query<{ recipient: string; state: string }>(
    `SELECT split_part(recipient, '@', 1) AS recipient, concat_ws(' ',
       CASE WHEN state = 'in_doubt' AND next_at IS NULL THEN 'held' ELSE state END, phase, attempt) AS state
     FROM deliveries`,
  )
  return Object.fromEntries(rows.map(({ recipient, state }) => [recipient, state]))
}

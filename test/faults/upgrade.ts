import { parseArgs } from 'node:util'
import { request } from 'undici'
import { countStates } from '#test/faults/support/deliveries.ts'
import { findEarlierRelease, unpackRelease } from '#test/faults/support/earlier_release.ts'
import { checkKeys, Load } from '#test/faults/support/load.ts'
import { Release } from '#test/faults/support/release.ts'
import { recipient, type Sender, type Stage } from '#test/faults/support/stage.ts'
import { openUpgrade, prepareDatabase, type Upgrade } from '#test/faults/support/upgrade.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { Report, runCampaign } from './campaign.ts'

/** Local parts that the sink understands (sink.ts), so that deliveries reach every state. */
const BEHAVIOURS = ['ok', 'tmp-451', 'perm-550', 'data-554', 'grey-1', 'drop-post-dot', 'hang-post-dot', 'slow250-3000']
const IN_ANY_STATE = 400
const PER_STEP = 300
const LIMIT_MS = 120_000

/**
 * Upgrades a running system. Processes of an earlier commit create emails in every state and continue under load while the
 * database is migrated; then processes of this commit join them, and the earlier ones stop. Nothing that was accepted is lost,
 * and every copy beyond the first was in doubt.
 */
async function upgrade(upgrade: Upgrade, { startSink }: Stage): Promise<Report> {
  const report = new Report()
  const { earlier, later } = upgrade
  const sink = await startSink()
  const environment = { MAIL_TRANSPORT: sink.url }
  const web = await earlier.startWeb(environment)
  const worker = earlier.supervise(earlier.workerFile, environment)
  const loads: Load[] = []
  const start = (urls: string[], behaviours = ['ok']): Load => {
    const first = loads.length * 1_000_000
    const load = new Load(upgrade, { first, compose: n => compose(upgrade, n, behaviours) })
    loads.push(load)
    load.start(urls, 8)
    return load
  }

  const mixed = start([web.url], BEHAVIOURS)
  await mixed.accepts(IN_ANY_STATE)
  await mixed.stop()
  await cancel(upgrade, web.url, mixed)
  await waitUntil(async () => (await countStates(upgrade)).bounced, 'some are bounced', LIMIT_MS)
  report.note({ before: await countStates(upgrade) })

  const during = start([web.url])
  await during.accepts(PER_STEP)
  await later.migrate()
  await during.accepts(PER_STEP) // the earlier processes on the migrated database
  const newWeb = await later.startWeb(environment)
  const newWorker = later.supervise(later.workerFile, environment)
  const beside = start([web.url, newWeb.url])
  await beside.accepts(PER_STEP)
  await during.stop()
  await Promise.all([worker.stop(), web.child.stop()]) // callers of the earlier process try the other one
  await beside.stop()
  await waitUntil(async () => (await countUnsettled(upgrade)) === 0, 'every delivery is settled', LIMIT_MS)
  await newWorker.stop() // otherwise deferred emails are sent while they are counted
  report.note({ after: await countStates(upgrade), accepted: loads.reduce((sum, { ids }) => sum + ids.size, 0) })
  for (const load of loads) for (const fault of await checkKeys(upgrade, load)) report.expect(false, fault)
  const answered = loads.flatMap(({ ids }) => [...ids.values()].flatMap(set => [...set]))
  await report.consult(upgrade, { sent: sink.ledger.read(), answered })
  return report
}

/** Schedules every tenth email for tomorrow. */
function compose({ account }: Sender, n: number, behaviours: string[]) {
  const isScheduled = behaviours.length > 1 && n % 10 === 0
  const to = recipient(behaviours[n % behaviours.length] as string, n)
  const email = { from: `hello@${account.domain}`, to, subject: `Number ${n}`, text: 'Hello' }
  return { path: '/api/emails', body: isScheduled ? { ...email, scheduled_at: 'in 1 day' } : email }
}

/** Cancels half of the scheduled emails. */
async function cancel({ account }: Sender, url: string, { ids }: Load): Promise<void> {
  for (const [n, [id]] of ids) {
    if (Number(n) % 20 !== 0) continue
    const headers = { authorization: `Bearer ${account.key}`, 'user-agent': 'upgrade' }
    const response = await request(`${url}/api/emails/${id}/cancel`, { method: 'POST', headers })
    await response.body.dump()
    if (response.statusCode !== 200) throw new Error(`cancel got the status ${response.statusCode}`)
  }
}

/**
 * Makes deliveries to recipients that accept everything due: others hang, so the relay may pause for a while. Returns how many
 * there are, with those in progress. Other emails may be deferred or in doubt for long.
 */
async function countUnsettled({ pool }: Upgrade): Promise<number> {
  const waiting = await pool.pg.query(
    `UPDATE deliveries SET next_at = now()
     WHERE state = 'queued' AND (recipient LIKE 'ok-%' OR recipient LIKE 'slow250-%') AND next_at < now() + interval '1 hour'`,
  )
  const { rows } = await pool.pg.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM deliveries WHERE state = 'sending'`,
  )
  return (waiting.rowCount ?? 0) + (rows[0]?.count ?? 0)
}

/** Opens a database that the earlier release has created, beside that of the stage. */
async function upgradeFrom(commit: string, stage: Stage): Promise<Report> {
  const directory = await unpackRelease(commit)
  await stage.pool.pg.query('CREATE DATABASE earlier TEMPLATE template0')
  const url = Object.assign(new URL(stage.url), { pathname: 'earlier' }).href
  const opened = openUpgrade(directory, url, await prepareDatabase(new Release(directory, url)))
  return upgrade(opened, stage).finally(opened.close)
}

/** node test/faults/upgrade.ts [--from HEAD~1]: a commit with the same packages, by default the last one without the newest migration. */
if (import.meta.main) {
  const { values } = parseArgs({ options: { from: { type: 'string' } } })
  const commit = values.from ?? findEarlierRelease()
  await runCampaign(`upgrade from ${commit}`, stage => upgradeFrom(commit, stage))
}

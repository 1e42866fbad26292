import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { request } from 'undici'
import { migrate } from '#sql/migrate.ts'
import { countStates } from '#test/faults/support/deliveries.ts'
import { checkKeys, Load } from '#test/faults/support/load.ts'
import { openStage, recipient, type Stage } from '#test/faults/support/stage.ts'
import { ROOT } from '#test/support/root.ts'
import { Report } from './campaign.ts'

/** The sink does what these local parts say (sink.ts), so that deliveries get into every state. */
const BEHAVIOURS = ['ok', 'tmp-451', 'perm-550', 'data-554', 'grey-1', 'drop-post-dot', 'hang-post-dot', 'slow250-3000']
const IN_ANY_STATE = 400
const PER_STEP = 300
const LIMIT_MS = 120_000

/**
 * Upgrades a system at work. Processes of an earlier commit leave mail in every state and go on under load while the
 * database is migrated; then processes of this commit join them, and the earlier ones stop. Nothing that either accepted
 * is lost, and every copy beyond the first was in doubt.
 */
async function upgrade(earlier: Stage): Promise<Report> {
  const report = new Report()
  const sink = await earlier.startSink()
  const environment = { MAIL_TRANSPORT: sink.url }
  const web = await earlier.startWeb(environment)
  const worker = earlier.supervise('test/faults/support/worker.ts', environment)
  const loads: Load[] = []
  const start = (urls: string[], behaviours = ['ok']): Load => {
    const first = loads.length * 1_000_000
    const load = new Load(earlier, { first, compose: n => compose(earlier, n, behaviours) })
    loads.push(load)
    load.start(urls, 8)
    return load
  }

  const mixed = start([web.url], BEHAVIOURS)
  await mixed.accepts(IN_ANY_STATE)
  await mixed.stop()
  await cancel(earlier, web.url, mixed)
  await waitFor(async () => (await countStates(earlier)).bounced !== undefined)
  report.note({ before: await countStates(earlier) })

  const during = start([web.url])
  await during.accepts(PER_STEP)
  await migrate(earlier.url)
  await during.accepts(PER_STEP) // the earlier processes, on the new database
  const later = await openStage(earlier.url)
  try {
    const newWeb = await later.startWeb(environment)
    later.supervise('test/faults/support/worker.ts', environment)
    const beside = start([web.url, newWeb.url])
    await beside.accepts(PER_STEP)
    await during.stop()
    await Promise.all([worker.stop(), web.child.stop()]) // callers of the earlier one try the other
    await beside.stop()
    await waitFor(async () => (await countUnsettled(later)) === 0)
    report.note({ after: await countStates(later), accepted: loads.reduce((sum, { ids }) => sum + ids.size, 0) })
    for (const load of loads) for (const fault of await checkKeys(later, load)) report.expect(false, fault)
    const answered = loads.flatMap(({ ids }) => [...ids.values()].flatMap(set => [...set]))
    await report.consult(later, { sent: sink.ledger.read(), answered })
  } finally {
    await later.close()
  }
  return report
}

/** Every tenth is scheduled for tomorrow. */
function compose(stage: Stage, n: number, behaviours: string[]) {
  const isScheduled = behaviours.length > 1 && n % 10 === 0
  const to = recipient(behaviours[n % behaviours.length] as string, n)
  const email = { from: `hello@${stage.account.domain}`, to, subject: `Number ${n}`, text: 'Hello' }
  return { path: '/api/emails', body: isScheduled ? { ...email, scheduled_at: 'in 1 day' } : email }
}

/** Cancels half of the scheduled emails. */
async function cancel({ account }: Stage, url: string, { ids }: Load): Promise<void> {
  for (const [n, [id]] of ids) {
    if (Number(n) % 20 !== 0) continue
    const headers = { authorization: `Bearer ${account.key}`, 'user-agent': 'upgrade' }
    const response = await request(`${url}/api/emails/${id}/cancel`, { method: 'POST', headers })
    await response.body.dump()
    if (response.statusCode !== 200) throw new Error(`cancel answered ${response.statusCode}`)
  }
}

/**
 * Makes due what recipients that take everything wait for: others hang, so the relay may be left alone for a while. Returns
 * how many there are, with those under way. Other mail may be deferred or in doubt for long.
 */
async function countUnsettled({ pool }: Stage): Promise<number> {
  const waiting = await pool.pg.query(
    `UPDATE deliveries SET next_at = now()
     WHERE state = 'queued' AND (recipient LIKE 'ok-%' OR recipient LIKE 'slow250-%') AND next_at < now() + interval '1 hour'`,
  )
  const { rows } = await pool.pg.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM deliveries WHERE state = 'sending'`,
  )
  return (waiting.rowCount ?? 0) + (rows[0]?.count ?? 0)
}

async function waitFor(isTrue: () => Promise<boolean>): Promise<void> {
  const limit = performance.now() + LIMIT_MS
  while (!(await isTrue())) {
    if (performance.now() > limit) throw new Error(`not within ${LIMIT_MS} ms`)
    await sleep(1_000)
  }
}

/** Checks a commit out into a folder of its own, which is removed at exit. */
function checkOut(commit: string): string {
  const directory = join(mkdtempSync(join(tmpdir(), 'mailbrook-earlier-')), 'code')
  const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] })
  git('worktree', 'add', '--detach', directory, commit)
  process.once('exit', () => {
    git('worktree', 'remove', '--force', directory)
    rmSync(join(directory, '..'), { recursive: true, force: true })
  })
  symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'))
  return directory
}

/** node test/faults/upgrade.ts [--from HEAD~1]: an earlier commit with the same packages, whose helpers start it. */
if (import.meta.main) {
  const { values } = parseArgs({ options: { from: { type: 'string', default: 'HEAD~1' } } })
  const file = join(checkOut(values.from), 'test', 'faults', 'campaign.ts')
  const { runCampaign }: typeof import('./campaign.ts') = await import(pathToFileURL(file).href)
  await runCampaign(`upgrade from ${values.from}`, upgrade)
}

import { setTimeout as sleep } from 'node:timers/promises'
import { advanceRuns } from '#flows/automations/engine/advance_runs.ts'
import { Advancer, AUTOMATION_TIMES } from '#flows/automations/engine/advancer.ts'
import { benchRunPages } from '#test/bench/support/run_pages.ts'
import { benchSends } from '#test/bench/support/run_sends.ts'
import { interleave, openStage, report, type Stage } from '#test/bench/support/stage.ts'
import { fillRuns, storeAutomation, type TestConnection, type TestStep } from '#test/support/automation_runs.ts'
import { newAccount } from '#test/support/world.ts'

/** Runs that wait while others are due. WAITING=1000000 is the size of the goal. */
const WAITING = Number(process.env.WAITING ?? 200_000)
const COUNT = 10_000
const SINGLE = 500
const CONNECTIONS = 10
/** Delays that end one after the other within this many seconds. */
const DELAYS = 10_000
const SPREAD_SECONDS = 20
/** The time that storing them takes. */
const AHEAD_SECONDS = 10

type Place = { id: string; domain_id: string }

/**
 * Runs advanced per second, in sets on one connection, compared with a transaction for each on ten; how late delays end; how long
 * pages of runs take; and runs that send per second, compared with emails in batches.
 */
export async function benchAutomations(): Promise<void> {
  const stage = await openStage()
  try {
    const account = await newAccount(stage)
    const waiting = await storeAutomation(stage, account, [{ type: 'delay', config: { duration: '300 days' } }])
    await fillRuns(stage, account, waiting, WAITING, `now() + interval '300 days'`)
    const { steps, connections } = conditionsAndDelays()
    const automation = await storeAutomation(stage, account, steps, { connections })
    await fillRuns(stage, account, automation, COUNT, 'now()')
    await stage.pool.pg.query('ANALYZE')

    const inSets = () => advanceRuns(stage)
    const oneByOne = async () => {
      let left = SINGLE
      await Promise.all(Array.from({ length: CONNECTIONS }, () => advanceRuns(stage, () => --left < CONNECTIONS, 1)))
    }
    const rate = async (run: () => Promise<void>) => {
      await makeDue(stage, automation)
      const began = performance.now()
      await run()
      const seconds = (performance.now() - began) / 1_000
      return (await countAdvanced(stage, automation)) / seconds
    }
    await rate(inSets)
    const figures = await interleave({
      'sets of 1,000, 1 connection': () => rate(inSets),
      [`one each, ${CONNECTIONS} connections`]: () => rate(oneByOne),
    })
    const [sets, single] = Object.values(figures) as [number, number]
    report('runs advanced', `${(sets / single).toFixed(1)} times one each`, '>= 8', sets / single >= 8)
    await benchLateness(stage, account)
    await benchRunPages(stage, account)
    await benchSends(stage, account)
  } finally {
    await stage.close()
  }
}

/** A condition after each delay, for as many steps as a graph may have. */
function conditionsAndDelays(): { steps: TestStep[]; connections: TestConnection[] } {
  const rule = { type: 'rule', field: 'contact.email', operator: 'contains', value: '@' }
  const pairs = Array.from({ length: 70 }, (_, n) => [
    { key: `delay${n}`, type: 'delay', config: { duration: '1 day' } },
    { key: `condition${n}`, type: 'condition', config: rule },
  ])
  const steps = pairs.flat()
  const connections = steps.map(({ key }, n): TestConnection => {
    return [steps[n - 1]?.key ?? 'start', key, n > 0 && n % 2 === 0 ? 'condition_met' : 'default']
  })
  return { steps, connections }
}

async function makeDue({ pool }: Stage, automation: string): Promise<void> {
  await pool.pg.query('UPDATE automation_runs SET due_at = now(), wait_until = now() WHERE automation_id = $1', [
    automation,
  ])
}

async function countAdvanced({ pool }: Stage, automation: string): Promise<number> {
  const query = 'SELECT count(*)::int AS count FROM automation_runs WHERE automation_id = $1 AND due_at > now()'
  return (await pool.pg.query(query, [automation])).rows[0].count
}

/** Delays end one after the other while a worker polls and many others wait. */
async function benchLateness(stage: Stage, account: Place): Promise<void> {
  const automation = await storeAutomation(stage, account, [{ type: 'delay', config: { duration: '1 day' } }])
  const due = `now() + make_interval(secs => ${AHEAD_SECONDS} + ${SPREAD_SECONDS} * random() + 0 * length(p.email))`
  await fillRuns(stage, account, automation, DELAYS, due)
  await stage.pool.pg.query('CREATE TABLE due AS SELECT id, wait_until FROM automation_runs WHERE automation_id = $1', [
    automation,
  ])
  const advancer = new Advancer(stage)
  advancer.start()
  await sleep((AHEAD_SECONDS + SPREAD_SECONDS + 3) * 1_000)
  await advancer.stop()
  const { rows } = await stage.pool.pg.query(
    `SELECT percentile_cont(0.99) WITHIN GROUP (ORDER BY extract(epoch FROM coalesce(r.completed_at, now()) - d.wait_until)) AS p99
     FROM due d JOIN automation_runs r ON r.id = d.id`,
  )
  const limit = AUTOMATION_TIMES.poll_ms / 1_000 + 1
  const p99 = Number(rows[0].p99)
  report(`lateness of delays with ${WAITING} waiting`, `p99 ${p99.toFixed(2)} s`, `<= ${limit} s`, p99 <= limit)
}

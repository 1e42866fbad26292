import { advanceRuns } from '#flows/automations/engine/advance_runs.ts'
import { measureBatches } from '#test/bench/batch.ts'
import { EMAIL } from '#test/bench/support/generate_load.ts'
import { fillRuns, storeAutomation } from '#test/support/automation_runs.ts'
import { interleave, report, type Stage } from './stage.ts'

const RUNS = 5_000
const BATCHES = 50

type Place = { id: string; domain_id: string; domain: string }

/** Runs with a step that sends, on one connection, compared with as many emails in batches on four (`bench batch`). */
export async function benchSends(stage: Stage, account: Place): Promise<void> {
  await stage.spawn('workers/web.ts', { PORT: '4601' })
  const { html, subject } = EMAIL
  const send = { type: 'send_email', config: { from: `hi@${account.domain}`, subject, html } }
  const delay = { type: 'delay', config: { duration: '1 day' } }
  const sendByRuns = async () => {
    const automation = await storeAutomation(stage, account, [delay, send], { purpose: 'transactional' })
    await fillRuns(stage, account, automation, RUNS, 'now()')
    const began = performance.now()
    await advanceRuns(stage)
    const seconds = (performance.now() - began) / 1_000
    const query = 'SELECT count(*)::int AS count FROM emails WHERE automation_id = $1'
    const { count } = (await stage.pool.pg.query(query, [automation])).rows[0]
    if (count !== RUNS) throw new Error(`${count} of ${RUNS} runs have sent`)
    return count / seconds
  }
  await sendByRuns()
  await measureBatches(stage, BATCHES)
  const figures = await interleave({
    'runs that send': sendByRuns,
    'POST /emails/batch': () => measureBatches(stage, BATCHES),
  })
  const part = figures['runs that send'] / figures['POST /emails/batch']
  report('runs that send', `${(100 * part).toFixed(0)} % of emails in batches`, '>= 50 %', part >= 0.5)
}

import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import { createUnsubscribeLinks } from '#flows/contacts/unsubscribe_links.ts'
import { newId } from '#lib/ids.ts'
import { openStage, percentile, report, type Stage } from '#test/bench/support/stage.ts'
import { environmentOfProcess } from '#test/support/procfile.ts'
import { measureSingles, PORT } from './contacts.ts'
import { finishImport, type Place, uploadContacts } from './import.ts'
import { person } from './support/contact_file.ts'
import { watchContactLock } from './support/lock_holds.ts'

const ROWS = Number(process.env.WAIT_ROWS ?? 300_000)
const IMPORTS = 2

/** How long one slice of an import may lock the contacts of an account, in milliseconds. */
const LONGEST_HOLD = 100

/** How long writes of single contacts and unsubscribes wait while two files are imported into one account. */
export async function benchImportWaits(): Promise<void> {
  const stage = await openStage()
  try {
    await stage.spawn('workers/web.ts', { PORT })
    await stage.spawn('test/bench/support/worker.ts', environmentOfProcess('worker'))
    const { rows } = await stage.pool.pg.query<Place>('SELECT account_id, id AS domain_id FROM domains LIMIT 1')
    const [place] = rows as [Place]
    const marks = Array.from({ length: IMPORTS }, (_, n) => `wait${n}`)
    const ids = await Promise.all(marks.map(mark => uploadContacts(stage, ROWS, mark)))
    let isOver = false
    const measuring = Promise.all([
      measureSingles(stage, Number.POSITIVE_INFINITY, () => isOver),
      measureOptouts(stage, place, marks, () => isOver),
      watchContactLock(stage.config.DATABASE_URL as string, place.account_id, () => isOver),
    ])
    await Promise.all(ids.map(id => finishImport(stage, id))).finally(() => {
      isOver = true
    })
    const [singles, optouts, holds] = await measuring
    const goal = 'p50 < 100 ms, p99 < 1 s'
    tell(
      'one contact while two imports run',
      singles,
      goal,
      percentile(singles, 0.5) < 100 && percentile(singles, 0.99) < 1_000,
    )
    tell('unsubscribing meanwhile', optouts, 'p99 < 500 ms', percentile(optouts, 0.99) < 500)
    tell('holds of the contact lock', holds, `all <= ${LONGEST_HOLD} ms`, Math.max(...holds) <= LONGEST_HOLD)
  } finally {
    await stage.close()
  }
}

function tell(name: string, times: number[], goal: string, isMet: boolean): void {
  const [p50, p99, most] = [percentile(times, 0.5), percentile(times, 0.99), Math.max(...times)]
  const figure = `p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms, at most ${most.toFixed(0)} ms of ${times.length}`
  report(name, figure, goal, isMet)
}

/**
 * Milliseconds of each one-click POST, in sequence, by people in the files: some are contacts already, and some are about to
 * become contacts. A refused POST throws.
 */
async function measureOptouts(stage: Stage, place: Place, marks: string[], isOver: () => boolean): Promise<number[]> {
  const linkOf = createUnsubscribeLinks({ ...stage, config: { ...stage.config, BASE_URL: `http://127.0.0.1:${PORT}` } })
  const times: number[] = []
  for (let n = 0; !isOver(); n++) {
    const { email: address } = person((n * 7_907) % ROWS, marks[n % marks.length] as string)
    const recipient = { ...place, address, topic_id: null, email_id: newId(), delivery_id: newId(), return_path: null }
    const { https } = await linkOf(recipient)
    const start = performance.now()
    const answer = await request(https, { method: 'POST', body: 'List-Unsubscribe=One-Click' })
    if (answer.statusCode !== 200) throw new Error(`unsubscribing got the status ${answer.statusCode}`)
    await answer.body.dump()
    times.push(performance.now() - start)
    await sleep(10)
  }
  return times
}

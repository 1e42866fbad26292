import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import { interleave, openStage, percentile, report, type Stage } from '#test/bench/support/stage.ts'
import { person } from './support/contact_file.ts'

/** The port of the API; set PORT if 4601 is taken. */
export const PORT = process.env.PORT ?? '4601'
export const URL = `http://127.0.0.1:${PORT}/api`
const BATCH = 10_000
const SINGLES = 300

/** Seconds for a batch of 10,000 contacts, new and known, and for a single contact. */
export async function benchContacts(): Promise<void> {
  const stage = await openStage()
  try {
    await stage.spawn('workers/web.ts', { PORT })
    let mark = 0
    const seconds = async (name: string) => {
      const contacts = Array.from({ length: BATCH }, (_, n) => ({ ...person(n, name), properties: undefined }))
      const start = performance.now()
      const answer = await post(stage, '/contacts/batch', { contacts })
      if ((answer.created ?? 0) + (answer.updated ?? 0) !== BATCH) throw new Error(JSON.stringify(answer).slice(0, 500))
      return (performance.now() - start) / 1_000
    }
    await seconds('warm')
    const figures = await interleave({
      'new contacts in a batch': async () => BATCH / (await seconds(`new${++mark}`)),
      'known contacts in a batch': async () => BATCH / (await seconds('warm')),
    })
    for (const [name, rate] of Object.entries(figures)) {
      const took = BATCH / rate
      report(`10,000 ${name}`, `${took.toFixed(2)} s`, '< 2 s', took < 2)
    }
    const times = await measureSingles(stage, SINGLES)
    const p50 = percentile(times, 0.5)
    report('one contact', `p50 ${p50.toFixed(1)} ms`, 'p50 < 10 ms', p50 < 10)
  } finally {
    await stage.close()
  }
}

/** Milliseconds of each POST /contacts, in sequence, until there are enough or `isOver`. */
export async function measureSingles(stage: Stage, count: number, isOver = () => false): Promise<number[]> {
  const times: number[] = []
  for (let n = 0; n < count && !isOver(); n++) {
    const start = performance.now()
    const { properties, ...contact } = person(n, `single${n % 100}`)
    await post(stage, '/contacts', contact)
    times.push(performance.now() - start)
    await sleep(5)
  }
  return times
}

export async function post(stage: Stage, path: string, body: object) {
  const headers = { authorization: `Bearer ${stage.key}`, 'content-type': 'application/json', 'user-agent': 'bench' }
  const answer = await request(URL + path, { method: 'POST', headers, body: JSON.stringify(body) })
  const json = (await answer.body.json()) as Record<string, number>
  if (answer.statusCode >= 300) throw new Error(`${path} responded ${JSON.stringify(json)}`)
  return json
}

import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { newId } from '#lib/ids.ts'
import { type Child, openStage, percentile, report, type Stage } from '#test/bench/support/stage.ts'
import { measureSingles, PORT, URL } from './contacts.ts'
import { COLUMN_MAP, contactFile, copyLines } from './support/contact_file.ts'

const ROWS = Number(process.env.ROWS ?? 1_000_000)
const ROUNDS = 2

/** Rows per second of a file from its upload to its end, beside COPY straight into the same table, and who waits meanwhile. */
export async function benchImport(): Promise<void> {
  const stage = await openStage()
  try {
    await stage.spawn('workers/web.ts', { PORT })
    const worker = await stage.spawn('test/bench/support/worker.ts')
    const { rows } = await stage.pool.pg.query('SELECT account_id, id AS domain_id FROM domains LIMIT 1')
    const rates: Record<'copy' | 'import', number[]> = { copy: [], import: [] }
    const waits: number[] = []
    const sizes: number[] = []
    for (let round = 1; round <= ROUNDS; round++) {
      rates.copy.push(ROWS / (await measureCopy(stage, rows[0], `copy${round}`)))
      const seconds = await measureImport(stage, worker, `import${round}`, sizes, round === ROUNDS ? waits : null)
      rates.import.push(ROWS / seconds)
      console.log(
        `  round ${round}  COPY ${rates.copy.at(-1)?.toFixed(0)}/s, import ${rates.import.at(-1)?.toFixed(0)}/s`,
      )
    }
    const part = Math.max(...rates.import) / Math.max(...rates.copy)
    report(`import of ${ROWS} rows`, `${(100 * part).toFixed(0)} % of COPY`, '>= 60 %', part >= 0.6)
    const most = Math.max(...sizes)
    report('memory of the worker', `${most.toFixed(0)} MB`, '< 300 MB', most < 300)
    const [p50, p99] = [percentile(waits, 0.5), percentile(waits, 0.99)]
    const figure = `p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms of ${waits.length}`
    report('one contact while an import runs', figure, 'p50 < 100 ms, p99 < 1 s', p50 < 100 && p99 < 1_000)
  } finally {
    await stage.close()
  }
}

/** Seconds of COPY into contacts with all of its indexes and triggers. */
async function measureCopy(
  stage: Stage,
  place: { account_id: string; domain_id: string },
  mark: string,
): Promise<number> {
  const lines = [...copyLines(ROWS, mark, { ...place, domain_id: newId() })]
  const client = new pg.Client({ connectionString: stage.config.DATABASE_URL }) // those of the pool give up after 17 s
  await client.connect()
  try {
    const start = performance.now()
    const columns = 'account_id, id, domain_id, email, first_name, last_name, properties, source'
    const stream = client.query(copyFrom(`COPY contacts (${columns}) FROM STDIN`))
    await new Promise<void>((resolve, reject) => {
      stream.once('error', reject)
      stream.once('finish', resolve)
      for (const piece of joined(lines)) stream.write(piece)
      stream.end()
    })
    return (performance.now() - start) / 1_000
  } finally {
    await client.end()
  }
}

function* joined(lines: string[]): Generator<string> {
  for (let at = 0; at < lines.length; at += 500) yield lines.slice(at, at + 500).join('')
}

/** Seconds from the beginning of the upload to the end of the import. */
async function measureImport(stage: Stage, worker: Child, mark: string, sizes: number[], waits: number[] | null) {
  const form = new FormData()
  form.set('column_map', JSON.stringify(COLUMN_MAP))
  form.set('create_properties', 'true')
  form.set('file', new Blob([contactFile(ROWS, mark)], { type: 'text/csv' }), 'contacts.csv')
  const headers = { authorization: `Bearer ${stage.key}`, 'user-agent': 'bench' }
  const start = performance.now()
  const answer = await fetch(`${URL}/contacts/imports`, { method: 'POST', headers, body: form })
  const { id, message } = (await answer.json()) as { id: string; message?: string }
  if (answer.status !== 201) throw new Error(message)
  console.log(`  uploaded in ${((performance.now() - start) / 1_000).toFixed(1)} s`)
  let isOver = false
  const singles = waits ? measureSingles(stage, Number.POSITIVE_INFINITY, () => isOver) : null
  const { counts, seconds } = await finish(id, headers, start, () => sizes.push(sizeOf(worker)))
  isOver = true
  if (singles) waits?.push(...(await singles))
  if (counts.created !== ROWS) throw new Error(JSON.stringify(counts))
  return seconds
}

type Ended = { counts: Record<string, number>; seconds: number }

async function finish(id: string, headers: Record<string, string>, start: number, onLook: () => void): Promise<Ended> {
  let merging = 0
  for (;;) {
    const answer = await fetch(`${URL}/contacts/imports/${id}`, { headers })
    const { status, counts } = (await answer.json()) as { status: string; counts: Record<string, number> }
    onLook()
    const seconds = (performance.now() - start) / 1_000
    if (merging === 0 && counts.total) merging = seconds
    if (status === 'failed') throw new Error('the import failed')
    if (status === 'completed') {
      console.log(`  staged after ${merging.toFixed(1)} s, ended after ${seconds.toFixed(1)} s`)
      return { counts, seconds }
    }
    await sleep(100)
  }
}

/** MB of RSS at most until now. */
function sizeOf({ process: { pid } }: Child): number {
  const [, kilobytes = '0'] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) / 1_024
}

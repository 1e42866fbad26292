import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { newId } from '#lib/ids.ts'
import { type Child, openStage, report, type Stage } from '#test/bench/support/stage.ts'
import { environmentOfProcess } from '#test/support/procfile.ts'
import { PORT, URL } from './contacts.ts'
import { COLUMN_MAP, contactFile, copyLines } from './support/contact_file.ts'

const ROWS = Number(process.env.ROWS ?? 1_000_000)
const ROUNDS = Number(process.env.ROUNDS ?? 2)

export type Place = { account_id: string; domain_id: string }

/** Rows per second from the start of the upload to the end of the import, compared with COPY into the same table. */
export async function benchImport(): Promise<void> {
  const stage = await openStage()
  try {
    await stage.spawn('workers/web.ts', { PORT })
    const worker = await stage.spawn('test/bench/support/worker.ts', environmentOfProcess('worker'))
    const { rows } = await stage.pool.pg.query<Place>('SELECT account_id, id AS domain_id FROM domains LIMIT 1')
    const rates: Record<'copy' | 'import', number[]> = { copy: [], import: [] }
    for (let round = 1; round <= ROUNDS; round++) {
      // Half before and half after, so that a machine that slows down affects both.
      const before = await measureCopy(stage, rows[0] as Place, `before${round}`)
      const imported = ROWS / (await measureImport(stage, `import${round}`))
      const copied = ROWS / (before + (await measureCopy(stage, rows[0] as Place, `after${round}`)))
      rates.copy.push(copied)
      rates.import.push(imported)
      const part = `${(100 * (imported / copied)).toFixed(0)} %`
      console.log(`  round ${round}  COPY ${copied.toFixed(0)}/s, import ${imported.toFixed(0)}/s, ${part}`)
    }
    const part = Math.max(...rates.import) / Math.max(...rates.copy)
    report(`import of ${ROWS} rows`, `${(100 * part).toFixed(0)} % of COPY`, '>= 60 %', part >= 0.6)
    const most = sizeOf(worker)
    report('memory of the worker', `${most.toFixed(0)} MB`, '< 300 MB', most < 300)
  } finally {
    await stage.close()
  }
}

/** Seconds for COPY of half the rows into contacts with all its indexes and triggers. */
async function measureCopy(stage: Stage, place: Place, mark: string): Promise<number> {
  const lines = [...copyLines(ROWS / 2, mark, { ...place, domain_id: newId() })]
  const client = new pg.Client({ connectionString: stage.config.DATABASE_URL }) // connections of the pool have a timeout of 17 s
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

/** Seconds from the start of the upload to the end of the import. */
async function measureImport(stage: Stage, mark: string): Promise<number> {
  const file = contactFile(ROWS, mark)
  const start = performance.now()
  const id = await uploadContacts(stage, ROWS, mark, file)
  console.log(`  uploaded in ${((performance.now() - start) / 1_000).toFixed(1)} s`)
  const { created } = await finishImport(stage, id)
  if (created !== ROWS) throw new Error(`${created} contacts were created`)
  return (performance.now() - start) / 1_000
}

/** Uploads a file with this many contacts; returns the id of the import. */
export async function uploadContacts(
  stage: Stage,
  rows: number,
  mark: string,
  file = contactFile(rows, mark),
): Promise<string> {
  const form = new FormData()
  form.set('column_map', JSON.stringify(COLUMN_MAP))
  form.set('create_properties', 'true')
  form.set('file', new Blob([new Uint8Array(file)], { type: 'text/csv' }), 'contacts.csv')
  const answer = await fetch(`${URL}/contacts/imports`, { method: 'POST', headers: headersOf(stage), body: form })
  const { id, message } = (await answer.json()) as { id: string; message?: string }
  if (answer.status !== 201) throw new Error(message)
  return id
}

/** Waits for the end of an import; returns its counts. */
export async function finishImport(stage: Stage, id: string): Promise<Record<string, number>> {
  for (;;) {
    const answer = await fetch(`${URL}/contacts/imports/${id}`, { headers: headersOf(stage) })
    const { status, counts } = (await answer.json()) as { status: string; counts: Record<string, number> }
    if (status === 'failed') throw new Error('the import failed')
    if (status === 'completed') return counts
    await sleep(100)
  }
}

const headersOf = ({ key }: Stage) => ({ authorization: `Bearer ${key}`, 'user-agent': 'bench' })

/** Peak RSS in MB. */
function sizeOf({ process: { pid } }: Child): number {
  const [, kilobytes = '0'] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) / 1_024
}

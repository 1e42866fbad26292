import { MEGABYTE } from '#test/faults/support/measure_memory.ts'
import type { Stage } from '#test/faults/support/stage.ts'
import { environmentOfProcess } from '#test/support/procfile.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { Report, readOptions, runCampaign } from './campaign.ts'
import type { Child } from './support/child.ts'
import { contactRows, nameOf, type Unstored } from './support/contact_rows.ts'

/** `first` and `files`: which encodings. `bad` rows are invalid, and as many repeat an address. `most_mb`: limit of RSS. */
type Options = { rows: number; bad: number; cell_mb: number; first: number; files: number; most_mb: number }

/** The encodings that Excel writes. Windows-1252 has a euro sign where other encodings have none. */
const ENCODINGS: [string, (text: string) => Buffer][] = [
  ['utf-8', text => Buffer.from(`\ufeff${text}`)],
  ['utf-16', text => Buffer.from(`\ufeff${text}`, 'utf16le')],
  ['windows-1252', text => Buffer.from(text.replaceAll('\u20ac', '\u0080'), 'latin1')],
]

const ENDS_MS = 300_000

/**
 * Files in other encodings with invalid and repeated rows, line breaks in quotes and a cell that is far too long. Each record
 * that is not stored is listed with its physical line, and neither the API nor the worker takes much memory.
 */
export async function importFiles(stage: Stage, options: Options): Promise<Report> {
  const report = new Report()
  const { url, child: web } = await stage.startWeb(environmentOfProcess('web'))
  const worker = stage.start('test/faults/support/worker.ts', { ...environmentOfProcess('worker'), LOG_LEVEL: 'error' })
  const { rows, bad, cell_mb, first, files } = options
  for (const [name, encode] of ENCODINGS.slice(first, first + files)) {
    const mark = name.replace('-', '')
    const { text, unstored } = contactRows(mark, { rows, bad, cell_bytes: cell_mb * MEGABYTE })
    const start = performance.now()
    const { id, ended } = await runImport(stage, url, encode(text))
    const named = await errorsOf(stage, url, id)
    const count = (outcome: Unstored['outcome']) => unstored.filter(one => one.outcome === outcome).length
    const counts = { total: rows, created: rows - unstored.length, updated: 0 }
    const wanted = { ...counts, skipped: count('skipped'), failed: count('failed') }
    report.note({ [name]: { seconds: Math.round((performance.now() - start) / 1_000), ...ended.counts } })
    report.expect(ended.status === 'completed', `${name}: the import is ${ended.status}`)
    report.expect(sameJson(ended.counts, wanted), `${name}: the counts are ${JSON.stringify(ended.counts)}`)
    report.expect(sameJson(named, unstored), `${name}: ${firstDifference(named, unstored)}`)
    report.expect(await isStored(stage, mark), `${name}: letters of a name were lost`)
  }
  checkMemory(report, { web, worker }, options)
  return report
}

type Headers = Record<string, string>
type Ended = { status: string; counts: Record<string, number> }

const headersOf = ({ account }: Stage): Headers => ({ authorization: `Bearer ${account.key}`, 'user-agent': 'load' })

async function runImport(stage: Stage, url: string, file: Buffer): Promise<{ id: string; ended: Ended }> {
  const form = new FormData()
  form.set('create_properties', 'true')
  form.set('file', new Blob([new Uint8Array(file)], { type: 'text/csv' }), 'contacts.csv')
  const headers = headersOf(stage)
  const answer = await fetch(`${url}/api/contacts/imports`, { method: 'POST', headers, body: form })
  const { id, message } = (await answer.json()) as { id: string; message?: string }
  if (answer.status !== 201) throw new Error(message)
  // Not by requests, of which so many would count in the memory of the web process.
  const query = 'SELECT completed_at IS NOT NULL AS is_over FROM contact_imports WHERE id = $1'
  const isOver = async () => (await stage.pool.pg.query(query, [id])).rows[0].is_over
  await waitUntil(isOver, 'the import has ended', ENDS_MS)
  return { id, ended: (await (await fetch(`${url}/api/contacts/imports/${id}`, { headers })).json()) as Ended }
}

/** All records that were not stored, from the CSV file of errors. */
async function errorsOf(stage: Stage, url: string, id: string): Promise<Unstored[]> {
  const answer = await fetch(`${url}/api/contacts/imports/${id}/errors?format=csv`, { headers: headersOf(stage) })
  const [, ...lines] = (await answer.text()).trimEnd().split('\r\n')
  return lines.map(line => {
    const [row, number, , outcome] = line.split(',')
    return { row: Number(row), line: Number(number), outcome: outcome as Unstored['outcome'] }
  })
}

const sameJson = (one: object, other: object) => JSON.stringify(sorted(one)) === JSON.stringify(sorted(other))
const sorted = (one: object) => (Array.isArray(one) ? one : Object.entries(one).sort())

function firstDifference(named: Unstored[], wanted: Unstored[]): string {
  const at = wanted.findIndex((one, n) => !sameJson(one, named[n] ?? {}))
  return `${named.length} records are named, ${wanted.length} were not to be stored, the first other one is ${JSON.stringify(
    [named[at], wanted[at]],
  )}`
}

async function isStored({ pool, account }: Stage, mark: string): Promise<boolean> {
  const { rows } = await pool.pg.query(
    `SELECT first_name, properties ->> 'note' AS note FROM contacts WHERE account_id = $1 AND email = $2`,
    [account.id, `person7@${mark}.com`],
  )
  return rows[0]?.first_name === nameOf(7) && /^two\r?\nlines; "7"$/.test(rows[0].note)
}

function checkMemory(report: Report, processes: Record<string, Child>, { most_mb }: Options): void {
  for (const [name, child] of Object.entries(processes)) {
    const megabytes = Math.round(child.memory('VmHWM') / MEGABYTE)
    report.note({ [`${name} took at most, in MB`]: megabytes })
    report.expect(megabytes < most_mb, `${name} took ${megabytes} MB`)
  }
}

/** node test/faults/import_files.ts [--rows 1000000] [--bad 1000] [--cell_mb 10] [--first 0] [--files 3] [--most_mb 300] */
if (import.meta.main) {
  const options = readOptions({ rows: 1_000_000, bad: 1_000, cell_mb: 10, first: 0, files: 3, most_mb: 300 })
  await runCampaign('files of contacts in several encodings, with bad rows and a huge cell', stage =>
    importFiles(stage, options),
  )
}

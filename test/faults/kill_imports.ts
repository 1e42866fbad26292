import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import type { Postgres } from '#test/faults/support/postgres.ts'
import type { Stage } from '#test/faults/support/stage.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { Report, readOptions, runCampaign } from './campaign.ts'

/** `crashes`: how many of the kills end Postgres instead of the worker. `pause_ms`: of a writer after each response. */
type Options = { rows: number; kills: number; crashes: number; writers: number; pause_ms: number }
type Import = { id: string; status: string; counts: Record<string, number>; errors: { row: number; line: number }[] }

const IMPORTS = 2
/** One in this many rows is invalid, and one repeats an address. */
const WRONG = 100
const REPEATED = 90

/** The longest time an import may be without a worker. */
const TAKEN_OVER_MS = 60_000

/**
 * The worker is killed again and again while two files are imported and others write contacts; sometimes Postgres crashes, which
 * loses the staged rows. Each file is merged completely and once, and no response claims what is not stored.
 */
export async function killImports(stage: Stage, postgres: Postgres, options: Options): Promise<Report> {
  const { rows, kills, crashes, writers, pause_ms } = options
  const report = new Report()
  const { url } = await stage.startWeb()
  const worker = stage.supervise('test/faults/support/worker.ts', { LOG_LEVEL: 'error' })
  const ids = await Promise.all(Array.from({ length: IMPORTS }, (_, n) => upload(stage, url, fileOf(rows, n))))
  const end = new AbortController()
  const answers: Record<string, number> = {}
  const write = async (n: number) => {
    for (let turn = 0; !end.signal.aborted; turn++) {
      const name = await writeContacts(stage, url, n, turn)
      answers[name] = (answers[name] ?? 0) + 1
      await sleep(pause_ms)
    }
  }
  const writing = Promise.all(Array.from({ length: writers }, (_, n) => write(n)))

  const killed: Record<string, number> = {}
  const victims = new Set<string>()
  const killAll = async () => {
    for (let kill = 1; kill <= kills; kill++) {
      if (!(await isUnderWay(stage, victims))) break // all have ended
      if (kill % 2 === 0) await mergeBegins(stage)
      await sleep(Math.random() * 300)
      const phase = await phaseOf(stage)
      const isCrash = Math.ceil((kill * crashes) / kills) > Math.ceil(((kill - 1) * crashes) / kills)
      const what = `${isCrash ? 'Postgres' : 'the worker'} while ${phase}`
      killed[what] = (killed[what] ?? 0) + 1
      if (isCrash) await crash(stage, postgres)
      else {
        worker.child.kill('SIGKILL')
        await worker.child.ended
      }
    }
    return Promise.all(ids.map(id => finish(stage, url, id)))
  }
  // Writers end before the processes they call, whatever happens.
  const ended = await killAll().finally(() => {
    end.abort()
    return writing
  })
  await worker.stop()

  report.note({ rows, killed, answers_to_writers: answers })
  for (const [n, { status, counts, errors }] of ended.entries()) {
    const { total = 0, created = 0, updated = 0, skipped = 0, failed = 0 } = counts
    report.expect(status === 'completed' && total === rows, `import ${n} is ${status} with ${total} of ${rows} rows`)
    report.expect(created + updated + skipped + failed === total, `${JSON.stringify(counts)} do not add up`)
    report.expect(failed === Math.floor(rows / WRONG), `${failed} rows of import ${n} failed`)
    report.expect(
      errors.every(({ row, line }) => line === row + 1),
      `errors of import ${n} have wrong lines`,
    )
    const { rows: stored } = await stage.pool.pg.query(
      `SELECT count(*)::int AS n FROM contacts WHERE email LIKE 'person%@file' || $1 || '.com'`,
      [n],
    )
    report.expect(stored[0].n === created + updated && updated === 0, `${stored[0].n} contacts, ${created} created`)
  }
  await checkDatabase(stage, report)
  // While Postgres is down they get a 500 with `retry-after`.
  const allowed =
    crashes > 0 ? /^(?:20[01]|503 contacts_busy|500 internal_server_error)$/ : /^(?:20[01]|503 contacts_busy)$/
  const others = Object.keys(answers).filter(name => !allowed.test(name))
  report.expect(others.length === 0, `writers got ${others}`)
  return report
}

async function crash({ pool }: Stage, postgres: Postgres): Promise<void> {
  await postgres.stop('SIGQUIT')
  await postgres.start()
  await waitUntil(() => pool.pg.query('SELECT').catch(() => null), 'Postgres is back')
}

function fileOf(rows: number, n: number): string {
  const lines = Array.from({ length: rows }, (_, i) => {
    const row = i + 1
    if (row % WRONG === 0) return `wrong ${row},X,false`
    return `person${row % REPEATED === 0 ? row - 1 : row}@file${n}.com,Name ${row},false`
  })
  return `email,first_name,unsubscribed\n${lines.join('\n')}\n`
}

/** Waits until a living worker has an import; returns false if none is left. The killed workers had the leases `victims`. */
async function isUnderWay({ pool }: Stage, victims: Set<string>): Promise<boolean> {
  for (;;) {
    const { rows } = await pool.pg.query<{ lease_owner: string | null; is_leased: boolean }>(
      'SELECT lease_owner, lease_until > now() AS is_leased FROM contact_imports WHERE completed_at IS NULL',
    )
    if (rows.length === 0) return false
    const fresh = rows.flatMap(row => (row.is_leased && row.lease_owner ? row.lease_owner : []))
    if (fresh.some(owner => !victims.has(owner))) {
      for (const owner of fresh) victims.add(owner)
      return true
    }
    await sleep(20)
  }
}

/** Waits until slices of each import were merged, unless that has happened. */
async function mergeBegins(stage: Stage): Promise<void> {
  const isMerging = async () => !/staging/.test(await phaseOf(stage))
  await waitUntil(isMerging, 'all imports are being merged', 2 * TAKEN_OVER_MS)
}

async function phaseOf({ pool }: Stage): Promise<string> {
  const { rows } = await pool.pg.query(
    `SELECT DISTINCT CASE WHEN status <> 'in_progress' THEN status WHEN merged_through = 0 THEN 'staging' ELSE 'merging' END AS phase
     FROM contact_imports ORDER BY 1`,
  )
  return rows.map(({ phase }) => phase).join(' ')
}

async function checkDatabase({ pool }: Stage, report: Report): Promise<void> {
  const { rows } = await pool.pg.query(`
    SELECT (SELECT count(*) FROM import_rows)::int AS staged, (SELECT count(*) FROM contacts)::int AS contacts,
      (SELECT sum(contacts) FROM audience_counts)::int AS counted,
      (SELECT deadlocks FROM pg_stat_database WHERE datname = current_database())::int AS deadlocks`)
  const { staged, contacts, counted, deadlocks } = rows[0]
  report.expect(staged === 0, `${staged} staged rows are left`)
  report.expect(contacts === counted, `${counted} contacts are counted, there are ${contacts}`)
  report.expect(deadlocks === 0, `${deadlocks} deadlocks`)
}

async function upload(stage: Stage, url: string, csv: string): Promise<string> {
  const { json } = await ask(stage, `${url}/api/contacts/imports`, 'POST', { csv })
  return json.id as string
}

async function finish(stage: Stage, url: string, id: string): Promise<Import> {
  const until = performance.now() + TAKEN_OVER_MS * 4
  for (;;) {
    const { json } = await ask(stage, `${url}/api/contacts/imports/${id}`, 'GET')
    if (json.completed_at) return json as unknown as Import
    if (performance.now() > until) throw new Error(`the import has not ended: ${JSON.stringify(json)}`)
    await sleep(100)
  }
}

/** Writes a single contact, sometimes a batch. Returns the status of the response with the name of its error. */
async function writeContacts(stage: Stage, url: string, n: number, turn: number): Promise<string> {
  const contact = { email: `writer${n}-${turn % 20}@others.com`, first_name: `Turn ${turn}` }
  const isBatch = turn % 10 === 9
  const path = isBatch ? '/contacts/batch' : '/contacts'
  const body = isBatch
    ? { contacts: Array.from({ length: 50 }, (_, i) => ({ email: `writer${i}-1@others.com` })) }
    : contact
  const { status, json } = await ask(stage, `${url}/api${path}`, 'POST', body)
  return status >= 300 ? `${status} ${json.name}` : String(status)
}

async function ask({ account }: Stage, url: string, method: 'GET' | 'POST', body?: object) {
  const headers = { authorization: `Bearer ${account.key}`, 'user-agent': 'load', 'content-type': 'application/json' }
  const answer = await request(url, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) })
  return { status: answer.statusCode, json: (await answer.body.json()) as Record<string, unknown> }
}

/** node test/faults/kill_imports.ts [--rows 50000] [--kills 20] [--crashes 6] [--writers 10] [--pause_ms 20] */
if (import.meta.main) {
  const options = readOptions({ rows: 50_000, kills: 20, crashes: 6, writers: 10, pause_ms: 20 })
  await runCampaign('kill -9 of workers and crashes of Postgres while contacts are imported', (stage, postgres) =>
    killImports(stage, postgres, options),
  )
}

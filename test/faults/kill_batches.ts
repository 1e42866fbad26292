import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import type { Stage } from '#test/faults/support/stage.ts'
import { findFreePort } from '#test/support/free_port.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { Report, readOptions, runCampaign } from './campaign.ts'

type Options = { batches: number; kills: number; connections: number }
type Incomplete = { sent: { id: string; index: number }[]; sent_count: number }
type Final = { status: number; text: string; ids: string[] }

const SIZE = 100
/** The text of every second batch, which is too long for one commit. */
const LONG = 'It is on its way. '.repeat(3_000)

/** Enough for as many batches as one may ask for on the command line. */
const PATIENCE_MS = 600_000

/**
 * Workers and web processes are killed while batches are stored, on a database that is sometimes slow. The final response to
 * each batch matches what is stored and charged to the quota, and a retry returns it again.
 */
export async function killBatches(stage: Stage, { batches, kills, connections }: Options): Promise<Report> {
  const report = new Report()
  const { pg } = stage.pool
  await pg.query(`INSERT INTO plans VALUES ('large', 100000000, NULL)`)
  await pg.query(`UPDATE accounts SET plan = 'large'`)
  await pg.query(`
    CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(random() ^ 3); RETURN NULL; END $$;
    CREATE TRIGGER dawdle AFTER INSERT ON emails FOR EACH STATEMENT EXECUTE FUNCTION dawdle()`)
  const port = await findFreePort()
  const url = `http://127.0.0.1:${port}`
  const web = stage.supervise('workers/web.ts', { BATCH_DEADLINE_MS: '1500', PORT: String(port) })
  const worker = stage.supervise('test/faults/support/worker.ts', { LOG_LEVEL: 'error' })

  const answers = new Map<number, Final>()
  let next = 0
  const post = async () => {
    for (let n = next++; n < batches; n = next++) answers.set(n, await insist(stage, url, n))
  }
  const posting = Promise.all(Array.from({ length: connections }, post))
  for (let kill = 1; kill <= kills; kill++) {
    const enough = Math.floor((batches * kill) / (kills + 1))
    await waitUntil(() => answers.size >= enough, `${enough} batches have responses`, PATIENCE_MS)
    const victim = kill % 3 === 0 ? web : worker
    victim.child.kill('SIGKILL')
  }
  await posting
  await sleep(1_000)

  const complete = [...answers.values()].filter(({ status }) => status === 200).length
  report.note({ batches, kills, complete, incomplete: batches - complete })
  for (const [n, { status, text, ids }] of answers) {
    const { rows } = await pg.query<{ id: string }>('SELECT id FROM emails WHERE subject LIKE $1 ORDER BY id', [
      `Batch ${n}, %`,
    ])
    const stored = rows.map(({ id }) => id)
    report.expect(
      `${stored}` === `${ids.toSorted()}`,
      `batch ${n} (${status}): ${ids.length} in the response, ${stored.length} stored`,
    )
    const again = await insist(stage, url, n)
    report.expect(again.text === text && again.status === status, `a retry of batch ${n} got another response`)
  }
  const { rows } = await pg.query(`SELECT id FROM batches WHERE state = 'open'`)
  report.expect(rows.length === 0, `${rows.length} batches were not completed`)
  await web.stop()
  await worker.stop()
  await pg.query('DROP FUNCTION dawdle CASCADE')
  const { rows: usage } = await pg.query(
    'SELECT (SELECT sum(emails) FROM usage_minutes) AS debited, (SELECT count(*) FROM emails) AS stored',
  )
  report.expect(usage[0].debited === usage[0].stored, `${usage[0].debited} are charged, ${usage[0].stored} stored`)
  return report
}

/** Retries until the outcome of the batch is known. */
async function insist(stage: Stage, url: string, n: number): Promise<Final> {
  for (;;) {
    const answer = await ask(stage, url, n).catch(() => null)
    if (answer) return answer
    await sleep(100)
  }
}

/** Null: retry. */
async function ask({ account }: Stage, url: string, n: number): Promise<Final | null> {
  const emails = Array.from({ length: SIZE }, (_, i) => ({
    ...{
      from: `hello@${account.domain}`,
      to: `ok-${n}-${i}@sink.internal`,
      subject: `Batch ${n}, ${i}`,
      text: `Hello ${i}. ${n % 2 === 0 ? LONG : ''}`,
    },
  }))
  const { statusCode: status, body } = await request(`${url}/api/emails/batch`, {
    method: 'POST',
    headers: { authorization: `Bearer ${account.key}`, 'user-agent': 'load', 'idempotency-key': `batch ${n}` },
    body: JSON.stringify(emails),
  })
  const text = await body.text()
  const parsed = JSON.parse(text)
  if (status === 200) return { status, text, ids: parsed.data.map(({ id }: { id: string }) => id) }
  if (parsed.name !== 'batch_incomplete') return null
  return { status, text, ids: (parsed as Incomplete).sent.map(({ id }) => id) }
}

/** node test/faults/kill_batches.ts [--batches 300] [--kills 30] [--connections 8] */
if (import.meta.main) {
  const options = readOptions({ batches: 300, kills: 30, connections: 8 })
  await runCampaign('kill -9 of workers and web processes while batches are stored', stage =>
    killBatches(stage, options),
  )
}

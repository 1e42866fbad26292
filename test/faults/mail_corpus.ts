import { createTransport } from 'nodemailer'
import { createBlobs } from '#flows/files/blobs.ts'
import { parseEmails } from '#flows/receiving/parse_email.ts'
import { openStage, type Stage } from '#test/bench/support/stage.ts'
import { listReceivedMessages, varyReceivedMessages } from '#test/support/mail/received_messages.ts'
import { withoutReturnPath, withoutTrace } from '#test/support/receiving.ts'
import { startSmtp } from '#workers/smtp.ts'

const PORT = 4186

/**
 * Messages as they occur in the world, valid and damaged, arrive by SMTP. Each is stored, its raw message has the same bytes, and
 * every response of the API about it is 200.
 *
 *     node test/faults/mail_corpus.ts [messages] [seed]
 */
async function main(): Promise<void> {
  const [count = 1_310, seed = 1] = process.argv.slice(2).map(Number)
  const stage = await openStage()
  const smtp = await startSmtp({ ...stage, config: { ...stage.config, SMTP_PORT: 0 } })
  const to = await openDomain(stage)
  const client = createTransport({ host: '127.0.0.1', port: smtp.port, ignoreTLS: true, pool: true })
  try {
    await stage.spawn('workers/web.ts', { PORT: String(PORT) })
    const all = [...listReceivedMessages().map(({ raw }) => raw), ...varyReceivedMessages(seed, count)]
    const faults: string[] = []
    const states: Record<string, number> = {}
    for (const [n, message] of all.entries()) {
      // The second of two equal messages may count as a repetition of the first.
      const raw = Buffer.concat([Buffer.from(`X-Serial: ${n}\r\n`), message])
      const fault = await bring(stage, client, to, raw, states)
      if (fault) faults.push(`${n}: ${fault}`)
    }
    for (const path of ['/emails/receiving', '/emails/receiving?limit=100']) {
      const { status } = await get(stage, path)
      if (status !== 200) faults.push(`${path}: ${status}`)
    }
    for (const fault of faults) console.log(fault)
    console.log(`${all.length} messages, ${JSON.stringify(states)}, ${faults.length} faults`)
    process.exitCode = faults.length > 0 ? 1 : 0
  } finally {
    client.close()
    await smtp.stop()
    await stage.close()
  }
}

async function openDomain({ pool }: Stage): Promise<string> {
  const { rows } = await pool.pg.query(`
    UPDATE domains SET receiving = true, status = 'verified' WHERE id = (SELECT id FROM domains LIMIT 1) RETURNING name
  `)
  return `me@${rows[0].name}`
}

/** Returns the fault, or null. */
async function bring(
  stage: Stage,
  client: ReturnType<typeof createTransport>,
  to: string,
  raw: Buffer,
  states: Record<string, number>,
): Promise<string | null> {
  const refused = await client.sendMail({ envelope: { from: 'ann@y.com', to }, raw }).then(
    () => null,
    (error: Error) => error.message,
  )
  if (refused) return refused
  const newest = 'SELECT account_id, id FROM received_emails ORDER BY id DESC LIMIT 1'
  const [id] = (await stage.pool.pg.query(newest)).rows
  await parseEmails({ ...stage, blobs: createBlobs(stage) }, [id])
  const { state, parse_error } = (
    await stage.pool.pg.query('SELECT state, parse_error FROM received_emails WHERE id = $1', [id.id])
  ).rows[0]
  states[state] = (states[state] ?? 0) + 1
  if (state !== 'parsed') console.log(state, parse_error)
  const one = await get(stage, `/emails/receiving/${id.id}`)
  if (one.status !== 200) return `one: ${one.status}`
  const answer = await get(stage, `/emails/receiving/${id.id}/raw`)
  if (answer.status !== 200) return `raw: ${answer.status}`
  return withCrlf(withoutTrace(answer.bytes)) === withCrlf(withoutReturnPath(Buffer.from(withCrlf(raw), 'latin1')))
    ? null
    : 'raw is not what was sent'
}

async function get({ key }: Stage, path: string): Promise<{ status: number; bytes: Buffer }> {
  const headers = { authorization: `Bearer ${key}`, 'user-agent': 'corpus' }
  const response = await fetch(`http://127.0.0.1:${PORT}/api${path}`, { headers })
  return { status: response.status, bytes: Buffer.from(await response.arrayBuffer()) }
}

/** Normalizes line ends and adds a last one, which SMTP requires. */
function withCrlf(raw: Buffer): string {
  return `${raw.toString('latin1').replace(/\r\n|\r|\n/g, '\r\n')}\r\n`.replace(/(\r\n)+$/, '\r\n')
}

await main()

import { setTimeout as sleep } from 'node:timers/promises'
import type { Stage } from '#test/faults/support/stage.ts'
import { findFreePort } from '#test/support/free_port.ts'
import { openClient, type SmtpClient } from '#test/support/smtp/smtp_client.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { Report, readOptions, runCampaign } from './campaign.ts'

const nobody = { teardown() {} }

/**
 * The process that receives mail is killed while many clients send. A message acknowledged with 250 is stored; the others are
 * sent again until they are acknowledged. Each message is stored once, with a job that parses it.
 */
export async function killSmtp(stage: Stage, options: { runs: number; senders: number }): Promise<Report> {
  const report = new Report()
  const { account, pool } = stage
  await pool.pg.query('UPDATE domains SET receiving = true WHERE id = $1', [account.domain_id])
  const port = await findFreePort()
  const smtp = stage.supervise('workers/smtp.ts', {
    SMTP_PORT: String(port),
    SMTP_GREETING_DELAY_MS: '0',
    SMTP_CONNECTIONS_PER_ADDRESS: '1000',
    LOG_LEVEL: 'info',
  })
  await smtp.child.says(/mail is received/)

  const told = new Map<string, number>() // how often each was sent until it was accepted
  let isOver = false
  const sender = async (n: number) => {
    let client: SmtpClient | null = null
    for (let count = 0; !isOver; count++) {
      const to = `${n}-${count}@${account.domain}`
      for (let tries = 1; !told.has(to); tries++) {
        client ??= await openClient(nobody, port).catch(() => null)
        const reply = await client?.send(to, `Message-ID: <${to}>\r\nSubject: ${to}\r\n\r\nHello`).catch(() => '')
        if (reply?.startsWith('250 2.0.0 Stored')) told.set(to, tries)
        else {
          if (reply?.startsWith('5')) report.expect(false, `${to} was refused: ${reply}`)
          client?.socket.destroy()
          client = null
          await sleep(20)
        }
      }
    }
    client?.socket.destroy()
  }
  const senders = Array.from({ length: options.senders }, (_, n) => sender(n))
  for (let run = 0; run < options.runs; run++) {
    const before = told.size
    await waitUntil(() => told.size >= before + options.senders, 'each sender has got a reply')
    await sleep(Math.random() * 50)
    const { child } = smtp
    child.kill('SIGKILL')
    await child.ended
  }
  isOver = true
  await Promise.all(senders)
  await smtp.stop()

  const { rows } = await pool.pg.query('SELECT id, received_for[1] AS recipient FROM received_emails')
  const jobs = await pool.pg.query('SELECT payload FROM graphile_worker._private_jobs')
  const queued = new Set(jobs.rows.flatMap(job => job.payload.ids.map(({ id }: { id: string }) => id)))
  const stored = Map.groupBy(rows, row => row.recipient)
  const lost = [...told.keys()].filter(to => !stored.has(to))
  const twice = [...stored.values()].filter(copies => copies.length > 1)
  report.note({ kills: options.runs, messages: told.size, stored: rows.length, jobs: jobs.rows.length })
  report.note({ sent_again: [...told.values()].filter(tries => tries > 1).length })
  report.expect(lost.length === 0, `${lost.length} were acknowledged but not stored, such as ${lost[0]}`)
  report.expect(twice.length === 0, `${twice.length} are stored twice, such as ${twice[0]?.[0].recipient}`)
  report.expect(rows.length === told.size, `${rows.length} of ${told.size} are stored`)
  report.expect(
    rows.every(row => queued.has(row.id)),
    'some have no job',
  )
  return report
}

/** node test/faults/kill_smtp.ts [--runs 20] [--senders 50] */
if (import.meta.main) {
  const options = readOptions({ runs: 20, senders: 50 })
  await runCampaign('kill -9 of the process that receives mail', stage => killSmtp(stage, options))
}

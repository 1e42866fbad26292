import { countStates, listBeyondFence, makeAllDue, waitForNone } from '#test/faults/support/deliveries.ts'
import { DESTINATIONS, destination, feed, type SinkProcess, type Stage } from '#test/faults/support/stage.ts'
import { startZone } from '#test/support/dns/name_server.ts'
import { Report, readOptions, runCampaign } from './campaign.ts'

type Options = { emails: number; kills: number; connections: number; behaviours: string[]; isDirect?: boolean }

/**
 * A worker is killed again and again while it sends. No email is lost, and only those recorded as in doubt may arrive twice, as
 * the same message.
 */
export async function killWorkers(stage: Stage, options: Options): Promise<Report> {
  const sink = await stage.startSink()
  if (!options.isDirect) return sendAndKill(stage, sink, { MAIL_TRANSPORT: sink.url }, options)
  const { environment, close } = await publishSink(sink.url)
  return sendAndKill(stage, sink, environment, options).finally(close)
}

async function sendAndKill(
  stage: Stage,
  sink: SinkProcess,
  environment: Record<string, string>,
  options: Options,
): Promise<Report> {
  const { emails, kills, connections } = options
  const report = new Report()
  await feed(stage, emails, 0, options.behaviours)
  const worker = stage.supervise('test/faults/support/worker.ts', {
    ...environment,
    SEND_CONNECTIONS: String(connections),
    LOG_LEVEL: 'error',
  })
  const seen = new Set<string>()
  const in_doubt: number[] = []
  for (let kill = 1; kill <= kills; kill++) {
    await sink.ledger.reaches(Math.floor((emails * kill) / (kills + 1)))
    worker.child.kill('SIGKILL')
    await worker.child.ended
    const left = (await listBeyondFence(stage)).filter(id => !seen.has(id))
    for (const id of left) seen.add(id)
    in_doubt.push(left.length)
  }
  const taken_over = await waitForNone(stage, ['queued', 'sending'], 120_000)
  const doubted = await countStates(stage)
  await makeAllDue(stage)
  const resent = await waitForNone(stage, ['queued', 'sending', 'in_doubt'])
  await worker.stop()

  const { delivered, ever_in_doubt = 0 } = await countStates(stage)
  const duplicates = sink.ledger.duplicates()
  report.note({ emails, kills, connections, in_doubt_by_kill: in_doubt, ever_in_doubt, duplicates })
  report.note({ in_doubt_after_last: doubted.in_doubt ?? 0, settled_after_s: taken_over, resent_after_s: resent })
  report.expect(delivered === emails, `${delivered} of ${emails} were delivered`)
  report.expect(new Set(sink.ledger.read().map(entry => entry.rcpt)).size === emails, 'not every recipient got it')
  report.expect(duplicates <= ever_in_doubt, 'there are more duplicates than emails in doubt')
  report.expect(Math.max(...in_doubt) <= connections, 'a kill left more emails in doubt than there are connections')
  await report.consult(stage, { sent: sink.ledger.read() })
  return report
}

/** The environment of a worker that sends everything to the sink. */
async function publishSink(url: string) {
  const { hostname, port } = new URL(url)
  const ends: (() => unknown)[] = []
  const { server, zone } = await startZone({ teardown: end => ends.push(end as () => unknown) })
  for (let n = 0; n < DESTINATIONS; n++) zone[destination(n)] = { A: [hostname] }
  return {
    environment: { MAIL_TRANSPORT: 'direct', DNS_SERVERS: server, MX_PORT: port, MX_ALLOW: hostname },
    close: () => {
      for (const end of ends) end()
    },
  }
}

/** node test/faults/kill_workers.ts [--emails 20000] [--kills 15] [--connections 40] */
if (import.meta.main) {
  const options = readOptions({ emails: 5_000, kills: 15, connections: 40 })
  for (const isDirect of [false, true]) {
    for (const behaviours of [['ok'], ['slow250-50']]) {
      const way = isDirect ? 'directly' : 'by a relay'
      await runCampaign(`kill -9 of a worker while it sends ${way} to ${behaviours}`, stage =>
        killWorkers(stage, { ...options, behaviours, isDirect }),
      )
    }
  }
}

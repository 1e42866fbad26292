import { setTimeout as sleep } from 'node:timers/promises'
import { countStates, listBeyondFence } from '#test/faults/support/deliveries.ts'
import { startSink } from '#test/faults/support/sink.ts'
import { feed, type Stage } from '#test/faults/support/stage.ts'
import { Report, readOptions, runCampaign } from './campaign.ts'

type Options = { connections: number; emails: number; seconds: number }

/** The longest time that other emails may take, beyond the second after which a silent relay is skipped. */
const GRACE_S = 2

/**
 * The first of two relays is silent after the final dot, for `seconds` or forever (0), with production timing. All other
 * emails go through the second one within moments; those waiting for the first are in doubt only after a kill, and are at most
 * twice as many as there are connections.
 */
async function silenceRelay(stage: Stage, { connections, emails, seconds }: Options): Promise<Report> {
  const report = new Report()
  const [silent, well] = [await startSink({ silent: true }), await startSink()]
  const worker = stage.start('workers/worker.ts', {
    MAIL_TRANSPORT: `${silent.url},${well.url}`,
    SEND_CONNECTIONS: String(connections),
    LOG_LEVEL: 'error',
  })
  try {
    await feed(stage, emails, 0, ['ok'])
    await silent.arrived(connections)
    const start = performance.now()
    await well.arrived(emails - connections)
    report.note({ others_after_s: elapsed(start) })
    report.expect(elapsed(start) < 1 + GRACE_S + emails / 100, 'the second relay got the other emails too late')

    const beyond: number[] = []
    // Beyond the 30 s after which they are set aside.
    const end = start + (seconds || 45) * 1_000
    while (performance.now() < end) {
      beyond.push((await listBeyondFence(stage)).length)
      if (beyond.length % 10 === 0) await feed(stage, 10, emails + beyond.length * 10, ['ok'])
      await sleep(500)
    }
    report.note({ most_beyond_fence: Math.max(...beyond), first: silent.messages, second: well.messages })
    report.expect(
      Math.max(...beyond) <= 4 * connections,
      'more emails than twice the connections are past the final dot',
    )
    report.expect(
      silent.messages <= 2 * connections,
      'the silent relay got more than twice as many emails as it has connections',
    )
    if (seconds > 0) {
      silent.speak()
      await sleep(5_000)
    }
    worker.kill('SIGKILL')
    await worker.ended
    const left = (await listBeyondFence(stage)).length
    report.note({ left_in_doubt_by_a_kill: left, states: await countStates(stage) })
    report.expect(seconds > 0 ? left === 0 : left <= 2 * connections, 'a kill left unexpected emails in doubt')
    report.expect(
      silent.messages + well.messages === new Set([...silent.ledger, ...well.ledger].map(e => e.rcpt)).size,
      'an email was sent twice',
    )
  } finally {
    await Promise.all([silent.close(), well.close()])
  }
  return report
}

function elapsed(start: number): number {
  return Number(((performance.now() - start) / 1_000).toFixed(1))
}

/** node test/faults/silent_relay.ts [--connections 40] [--emails 1000] */
if (import.meta.main) {
  const options = readOptions({ connections: 40, emails: 1_000 })
  for (const seconds of [15, 0]) {
    await runCampaign(`a relay that is silent ${seconds ? `for ${seconds} s` : 'forever'}`, stage =>
      silenceRelay(stage, { ...options, seconds }),
    )
  }
}

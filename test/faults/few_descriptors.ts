import { execFileSync } from 'node:child_process'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Child } from '#test/faults/support/child.ts'
import { countStates, makeAllDue, waitForNone } from '#test/faults/support/deliveries.ts'
import { checkKeys, Load } from '#test/faults/support/load.ts'
import { feed, type Stage } from '#test/faults/support/stage.ts'
import { Report, readOptions, runCampaign } from './campaign.ts'
import { MEGABYTE, sendLargeEmails } from './large_emails.ts'

/** `emails` go to a server that takes `slow_ms` for each. */
type Options = { descriptors: number; sockets: number; seconds: number; emails: number; slow_ms: number; large: number }

const MOST_MEMORY = 768 * MEGABYTE
const BACK_MS = 10_000
const FIRST_FED = 1_000_000
const FIRST_LARGE = 2_000_000

/** 40 MB per email, in files of at most 25 MB. */
const SIZES = [25 * MEGABYTE, 15 * MEGABYTE]

/**
 * A web process and a worker may open only a few files, while many sockets are wanted: by callers who then send nothing, and to
 * a slow server. At the same time many emails of the maximum size arrive. Neither process ends or grows, all resumes when the
 * sockets are closed, and everything is sent.
 */
async function starve(stage: Stage, options: Options): Promise<Report> {
  const { descriptors, sockets, seconds, emails, slow_ms, large } = options
  const report = new Report()
  const sink = await stage.startSink()
  const web = await stage.startWeb({ LOG_LEVEL: 'info' })
  const settings = { MAIL_TRANSPORT: sink.url, SEND_CONNECTIONS: String(Math.min(1_000, emails)), LOG_LEVEL: 'warn' }
  const worker = stage.start('test/faults/support/worker.ts', settings)
  for (const child of [web.child, worker]) limitDescriptors(child, descriptors)
  await worker.says(/^ready$/)
  const load = new Load(stage, { connections: 16 })
  try {
    await takeSockets(report, load, web.url, { sockets, seconds })
  } finally {
    await load.stop()
  }

  const soon = setInterval(() => makeAllDue(stage).catch(() => {}), 2_000)
  await feed(stage, emails, FIRST_FED, [`slow250-${slow_ms}`])
  const sent_after_s = await waitForNone(stage, ['queued', 'sending'], 180_000).finally(() => clearInterval(soon))
  const { rows } = await stage.pool.pg.query(
    `SELECT count(*)::int AS count FROM email_events WHERE data::text LIKE '%EMFILE%'`,
  )
  report.note({ descriptors, slow_emails: emails, sent_after_s, put_off_for_want_of_a_descriptor: rows[0].count })

  const numbers = Array.from({ length: large }, (_, i) => FIRST_LARGE + i)
  const figures = await sendLargeEmails(stage, { url: web.url, web: web.child, worker, sink }, report, numbers, SIZES)
  const peaks = [figures.web.peak, figures.worker.peak]
  const { answers, post_s, send_s } = figures
  report.note({ large_emails: large, large_answers: answers, post_s, send_s })
  report.note({ peak_mb_of_web_and_worker: peaks.map(peak => Math.round(peak / MEGABYTE)) })
  for (const [i, child] of [web.child, worker].entries()) {
    report.expect(child.exit === null, `process ${i} ended: ${JSON.stringify(child.exit)} ${child.lines.slice(-5)}`)
    report.expect((peaks[i] ?? 0) < MOST_MEMORY, `process ${i} took ${peaks[i]} bytes`)
  }
  await Promise.all([worker.stop(), web.child.stop()])

  const { delivered } = await countStates(stage)
  const all = load.ids.size + emails + large
  report.note({ delivered, duplicates: sink.ledger.duplicates() })
  report.expect(delivered === all, `${delivered} of ${all} were delivered`)
  for (const fault of await checkKeys(stage, load)) report.expect(false, fault)
  await report.consult(stage, { sent: sink.ledger.read(), answered: [...load.ids.values()].flatMap(ids => [...ids]) })
  return report
}

function limitDescriptors({ pid }: Child, count: number): void {
  execFileSync('prlimit', [`--pid=${pid}`, `--nofile=${count}:${count}`])
}

/** Callers come and go while this many sockets are held open. */
async function takeSockets(
  report: Report,
  load: Load,
  url: string,
  { sockets, seconds }: { sockets: number; seconds: number },
): Promise<void> {
  load.start([url], 16)
  await load.accepts(50)
  const held = Array.from({ length: sockets }, () => hold(url))
  await sleep(seconds * 1_000)
  const open = held.filter(({ socket }) => !socket.destroyed).length
  const before = { ...load.tally }
  for (const { socket } of held) socket.destroy()
  const start = performance.now()
  await load.accepts(50)
  const back_ms = Math.round(performance.now() - start)
  report.note({ sockets, held_open: open, closed_at_once: sockets - open, answers_meanwhile: before, back_ms })
  report.expect(back_ms < BACK_MS, 'requests were still slow after the sockets were closed')
}

function hold(url: string): { socket: Socket } {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => {}).on('connect', () => socket.write('POST /api/emails HTTP/1.1\r\n'))
  return { socket }
}

/** node test/faults/few_descriptors.ts [--descriptors 256] [--sockets 1000] [--seconds 15] [--emails 1000] [--large 20] */
if (import.meta.main) {
  const options = readOptions({
    descriptors: 256,
    sockets: 1_000,
    seconds: 15,
    emails: 1_000,
    slow_ms: 4_000,
    large: 20,
  })
  await runCampaign('few descriptors, many sockets, large emails', stage => starve(stage, options))
}

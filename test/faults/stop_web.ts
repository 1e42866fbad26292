import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import type { Child } from '#test/faults/support/child.ts'
import { type Answer, checkKeys, Load } from '#test/faults/support/load.ts'
import type { Stage } from '#test/faults/support/stage.ts'
import { Report, readOptions, runCampaign } from './campaign.ts'

type Options = { stops: number; connections: number; load_ms: number }

const EXIT_MS = 30_000

/**
 * A web process gets SIGTERM under load. It reports that it is not ready, finishes requests in progress and exits with 0. If a
 * connection is refused, or reset before the request was read, nothing was stored.
 */
export async function stopWeb(stage: Stage, { stops, connections, load_ms }: Options): Promise<Report> {
  const report = new Report()
  const load = new Load(stage)
  const took: number[] = []
  const unanswered: number[] = []
  let readiness_503 = 0
  for (let stop = 1; stop <= stops; stop++) {
    const { url, child } = await stage.startWeb({ LOG_LEVEL: 'info' })
    const posting = Promise.all(Array.from({ length: connections }, () => postUntilRefused(load, url, unanswered)))
    await sleep(Math.random() * load_ms)
    const start = performance.now()
    child.kill('SIGTERM')
    if (await saysNotReady(url, child)) readiness_503++
    const exit = await child.ended
    took.push(Math.round(performance.now() - start))
    await posting
    report.expect(exit.code === 0, `stop ${stop} ended with ${JSON.stringify(exit)}: ${child.lines.slice(-3)}`)
  }
  await load.stop()
  const stored = await listStored(stage, unanswered)
  report.note({ stops, answers: load.tally, readiness_503, stop_ms: took })
  report.note({ unanswered_not_begun: unanswered.length - stored.length, unanswered_but_stored: stored.length })
  report.expect(stored.length === 0, `numbers ${stored} were stored without a response`)
  report.expect(readiness_503 === stops, '/readyz did not return 503')
  report.expect(Math.max(...took) < EXIT_MS, 'it took too long to end')
  const statuses = Object.keys(load.tally).filter(status => /^\d/.test(status))
  report.expect(statuses.join() === '200', `unexpected responses: ${statuses}`)
  for (const fault of await checkKeys(stage, load)) report.expect(false, fault)
  return report
}

let numbers = 0

async function postUntilRefused(load: Load, url: string, unanswered: number[]): Promise<void> {
  for (;;) {
    const n = numbers++
    const answer: Answer = await load.post(url, n)
    if (answer.status === 'ECONNREFUSED') return
    if (answer.status !== 200) unanswered.push(n)
  }
}

/** Polls without waiting for responses: a request sent before the stop may get its response when the process is gone. */
async function saysNotReady(url: string, child: Child): Promise<boolean> {
  let says = false
  const ask = async () => {
    const { statusCode, body } = await request(`${url}/readyz`)
    says ||= statusCode === 503
    await body.dump()
  }
  while (!child.exit && !says) {
    ask().catch(() => {}) // the process is gone
    await sleep(25)
  }
  return says
}

async function listStored(stage: Stage, unanswered: number[]): Promise<number[]> {
  const { rows } = await stage.pool.pg.query<{ subject: string }>('SELECT subject FROM emails')
  const stored = new Set(rows.map(row => row.subject))
  return unanswered.filter(n => stored.has(`Number ${n}`))
}

/** A slow upload in progress at SIGTERM gets its response. */
export async function stopWebDuringUpload(stage: Stage, { seconds }: { seconds: number }): Promise<Report> {
  const report = new Report()
  const { url, child } = await stage.startWeb({ LOG_LEVEL: 'info' })
  const uploading = upload(stage, url, seconds * 1_000)
  await sleep(seconds * 300)
  child.kill('SIGTERM')
  const answer = await uploading
  const start = performance.now()
  const exit = await child.ended
  const exit_ms = Math.round(performance.now() - start)
  report.note({ upload_s: seconds, answer: answer.split('\r\n')[0], exit, exit_ms_after_answer: exit_ms })
  report.expect(/^HTTP\/1.1 200/.test(answer), `the response was ${answer.slice(0, 200)}`)
  report.expect(/^connection: close/im.test(answer), 'the response did not close its connection')
  report.expect(exit.code === 0, `it ended with ${JSON.stringify(exit)}`)
  await report.consult(stage)
  return report
}

const PIECES = 50

async function upload(stage: Stage, url: string, ms: number): Promise<string> {
  const { account } = stage
  const email = { from: `a@${account.domain}`, to: 'ok@sink.internal', subject: 'Slow', text: 'x'.repeat(1_000_000) }
  const body = JSON.stringify(email)
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  let answer = ''
  const answered = new Promise<string>((resolve, reject) => {
    socket.on('data', chunk => {
      answer += chunk
    })
    socket.once('error', reject).once('close', () => resolve(answer))
  })
  socket.write(
    `POST /api/emails HTTP/1.1\r\nHost: ${hostname}\r\nUser-Agent: upload\r\nAuthorization: Bearer ${account.key}\r\n` +
      `Content-Length: ${body.length}\r\n\r\n`,
  )
  for (let piece = 0; piece < PIECES; piece++) {
    socket.write(body.slice((piece * body.length) / PIECES, ((piece + 1) * body.length) / PIECES))
    await sleep(ms / PIECES)
  }
  return answered
}

/** node test/faults/stop_web.ts [--stops 20] [--connections 32] [--load_ms 3000] [--upload_s 10] */
if (import.meta.main) {
  const { upload_s, ...options } = readOptions({ stops: 20, connections: 32, load_ms: 2_000, upload_s: 6 })
  await runCampaign('SIGTERM to a web process under load', stage => stopWeb(stage, options))
  await runCampaign('SIGTERM to a web process during an upload', stage =>
    stopWebDuringUpload(stage, { seconds: upload_s }),
  )
}

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { request } from 'undici'
import { EMAIL, generateLoad } from '#test/bench/support/generate_load.ts'
import { type Child, interleave, openStage, percentile, report, type Stage } from '#test/bench/support/stage.ts'
import { type Sink, startSink } from '#test/faults/support/sink.ts'
import { ROOT } from '#test/support/root.ts'

const COUNT = 6_000
const IDLE_POSTS = 200

/** As many concurrent callers as in the baseline of nodemailer. */
const CALLERS = 64

/** As in nearly every reply: with PIPELINING (RFC 2920) a client sends the envelope at once. */
export const EHLO = '250-sink\r\n250-PIPELINING\r\n250-8BITMIME\r\n250 ENHANCEDSTATUSCODES'
const API = 'http://127.0.0.1:4601/api/emails'

/** Emails sent to a sink per second, signed with RSA-2048 and stored, compared with nodemailer and with signing alone. */
export async function benchDeliver(): Promise<void> {
  const stage = await openStage()
  const sink = await startSink({ discard: true, ehlo: EHLO })
  try {
    await stage.spawn('workers/web.ts', { PORT: '4601' })
    const worker = await stage.spawn('test/bench/support/worker.ts', { MAIL_TRANSPORT: sink.url })
    // Not measured: a process is slow before it has warmed up, and the baselines warm up too.
    for (let run = 0; run < 2; run++) await endToEnd(stage, sink)
    const figures = await interleave({
      'end to end, API load and worker': () => endToEnd(stage, sink),
      'worker draining a queue': () => drain(stage, sink, worker),
      'nodemailer pooled sendMail, RSA': () => inProcess('nodemailer_sender.ts', sink),
      'RSA-2048 on the thread pool alone': () => inProcess('rsa_signer.ts', sink),
    })
    const total = figures['end to end, API load and worker'] / figures['nodemailer pooled sendMail, RSA']
    const drained = figures['worker draining a queue'] / figures['RSA-2048 on the thread pool alone']
    report('end to end', `${total.toFixed(2)} x nodemailer with RSA`, '>= 1.5 x', total >= 1.5)
    report('drain', `${(100 * drained).toFixed(0)} % of bare RSA signing`, '>= 40 %', drained >= 0.4)
    await measureIdle(stage, sink)
  } finally {
    await stage.close()
    await sink.close()
  }
}

/** From the first request to the last arrival, without the start of the load generator. */
export async function endToEnd(stage: Stage, sink: Sink): Promise<number> {
  const ended = sink.arrived(sink.messages + COUNT).then(() => Date.now())
  const { began } = await generateLoad(API, stage.key, COUNT, { connections: CALLERS })
  return COUNT / (((await ended) - began) / 1000)
}

/** Emails sent per second from a full queue. The worker is stopped while it is filled; `onFull` is called before it continues. */
export async function drain(
  stage: Stage,
  sink: Sink,
  worker: Child,
  { count = COUNT, onFull = async () => {} }: { count?: number; onFull?: () => Promise<void> } = {},
): Promise<number> {
  worker.process.kill('SIGSTOP')
  await generateLoad(API, stage.key, count)
  await onFull()
  const arrived = sink.arrived(sink.messages + count)
  worker.process.kill('SIGCONT')
  const start = performance.now()
  await arrived
  return count / ((performance.now() - start) / 1000)
}

/** Runs one of the baselines in a separate process, like the worker; it prints its rate. */
export async function inProcess(file: string, sink: Sink, count: number = COUNT): Promise<number> {
  const environment = {
    SINK_URL: sink.url,
    COUNT: String(count),
    CALLERS: String(CALLERS),
    EMAIL: JSON.stringify(EMAIL),
  }
  const path = join(ROOT, 'test/bench/support', file)
  const { stdout } = await promisify(execFile)(process.execPath, [path], { env: environment })
  return Number(stdout)
}

/** One email at a time through an idle system: from the request to the last byte at the sink. */
async function measureIdle(stage: Stage, sink: Sink): Promise<void> {
  const headers = { authorization: `Bearer ${stage.key}`, 'content-type': 'application/json', 'user-agent': 'bench' }
  const times: number[] = []
  for (let count = 0; count < IDLE_POSTS; count++) {
    const arrived = sink.arrived(sink.messages + 1)
    const start = performance.now()
    const answer = await request(API, { method: 'POST', headers, body: JSON.stringify(EMAIL) })
    await answer.body.dump()
    await arrived
    times.push(performance.now() - start)
    await sleep(10)
  }
  const p50 = percentile(times, 0.5)
  report(
    'idle, from POST to sink',
    `p50 ${p50.toFixed(1)} ms, p99 ${percentile(times, 0.99).toFixed(1)} ms`,
    'p50 <= 20 ms',
    p50 <= 20,
  )
}

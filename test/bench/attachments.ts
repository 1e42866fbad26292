import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pipeline } from '#flows/delivery/pipeline.ts'
import type { PrepareMessage } from '#flows/delivery/prepare/prepare_message.ts'
import { readConfig } from '#lib/config.ts'
import { DEFAULT_TIMEOUTS } from '#lib/delivery/smtp/server.ts'
import { createSmtpTransport, relayServer } from '#lib/delivery/smtp/transport.ts'
import { createLog } from '#lib/log.ts'
import { composeAndSign } from '#lib/mail/compose.ts'
import { generateDkimKey, loadDkimKey } from '#lib/mail/dkim.ts'
import type { Message } from '#lib/mail/message.ts'
import { base64LinesLength } from '#lib/mail/mime/base64.ts'
import { createSecrets } from '#lib/secrets.ts'
import { report } from '#test/bench/support/stage.ts'
import { PLAIN } from '#test/support/delivering.ts'
import { ROOT } from '#test/support/root.ts'

const MB = 1 << 20
const FILE = 25 * MB
const PIECE = 256 * 1024

/**
 * The cost of emails with 25 MB files for a worker: resident memory, and the longest time its event loop was blocked. They are
 * composed, signed and sent to a sink in another process, without a database, which would only supply the pieces.
 */
export async function benchAttachments(): Promise<void> {
  const sink = await startSink()
  try {
    const warm = await open(sink.url)
    await warm(1, MB)
    const run = await open(sink.url)
    const one = await measure(() => run(1, FILE))
    report('one email with a 25 MB file', describe(one), '< 2 x the file', one.grown < 2 * FILE)
    const many = await measure(() => run(20, FILE))
    report('20 such emails at once', describe(many), 'no more than there is room for', many.grown < 8 * FILE)
  } finally {
    sink.stop()
  }
}

/** A block is the time between turns of the event loop; its CPU time does not include other processes. */
type Figures = { grown: number; block_ms: number; block_cpu_ms: number; seconds: number }

function describe({ grown, block_ms, block_cpu_ms, seconds }: Figures): string {
  const memory = `resident memory grew by ${(grown / MB).toFixed(0)} MB, ${(grown / FILE).toFixed(1)} x the file`
  const block = `longest block ${block_ms.toFixed(0)} ms (${block_cpu_ms.toFixed(0)} ms of CPU)`
  return `${memory}, ${block}, ${seconds.toFixed(1)} s`
}

async function measure(work: () => Promise<void>): Promise<Figures> {
  await sleep(500) // so that earlier work is finished
  const delay = monitorEventLoopDelay({ resolution: 1 })
  const before = process.memoryUsage.rss()
  let most = before
  let used = cpuTime()
  let block_cpu_ms = 0
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss())
    const now = cpuTime()
    block_cpu_ms = Math.max(block_cpu_ms, now - used)
    used = now
  }, 1)
  const start = performance.now()
  delay.enable()
  await work()
  delay.disable()
  clearInterval(timer)
  const seconds = (performance.now() - start) / 1000
  return { grown: most - before, block_ms: delay.max / 1e6, block_cpu_ms, seconds }
}

/** CPU time of this thread in ms. */
function cpuTime(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/** Sends this many emails with a file of this size, each to a separate recipient, at two destinations. */
async function open(sink_url: string): Promise<(count: number, size: number) => Promise<void>> {
  const config = readConfig({ MAIL_TRANSPORT: sink_url, SECRET_KEY: 'x'.repeat(32), HELO_NAME: 'bench' })
  const transport = createSmtpTransport(relayServer(sink_url, 'bench'), DEFAULT_TIMEOUTS, config.SEND_CONNECTIONS)
  const { private_key } = await generateDkimKey('rsa-sha256')
  const key = {
    domain: 'x.com',
    selector: 's',
    algorithm: 'rsa-sha256',
    private_key: loadDkimKey(private_key),
  } as const
  let size = 0
  const prepareMessage: PrepareMessage = async ({ id }) => ({
    sender: { name: 'x.com', return_path: null, tls: 'opportunistic', transport: null },
    size: base64LinesLength(size),
    compose: () => composeAndSign(mail(id, size), [key]),
  })
  const pipeline = new Pipeline({
    log: createLog('warn'),
    config,
    secrets: createSecrets('x'.repeat(32)),
    transport,
    prepareMessage,
    store: {
      fence: async () => 'allowed',
      setAside() {},
      async settle(_token, { outcome }) {
        if (outcome !== 'delivered') throw new Error(outcome)
        return true
      },
    },
    playRecipient: async () => {},
    onRoom() {},
  })
  return async (count, bytes) => {
    size = bytes
    for (let i = 0; i < count; i++) {
      const token = { account_id: '1', id: '0190b2c4-0000-7000-8000-000000000000', attempt: 1, lease_owner: '2' }
      const destination = `y${i % 2}.com`
      const recipient = `ok-${i}@${destination}`
      pipeline.take({ ...token, ...PLAIN, email_id: String(i), recipient, destination })
    }
    await pipeline.idle()
    transport.close()
  }
}

function mail(id: string, size: number): Message {
  const from = { name: null, address: 'a@x.com' }
  const read = async function* () {
    for (let start = 0; start < size; start += PIECE) {
      await sleep(0) // as from a socket
      yield Buffer.alloc(Math.min(PIECE, size - start), start)
    }
  }
  const head = { filename: 'a.bin', content_type: null, content_disposition: 'attachment', content_id: null } as const
  const addresses = { from, to: [from], cc: [], reply_to: [] }
  const contents = { text: 'Hi', html: null, attachments: [{ ...head, size, read }] }
  return { message_id: `${id}@x.com`, date: new Date(), ...addresses, subject: 'x', headers: {}, ...contents, seed: id }
}

async function startSink(): Promise<{ url: string; stop(): void }> {
  const file = join(ROOT, 'test/faults/support/sink.ts')
  const child = spawn(process.execPath, [file, '--discard'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [port] = await once(child.stdout, 'data')
  return { url: `smtp://127.0.0.1:${String(port).trim()}`, stop: () => child.kill() }
}

import { hash } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Chunker } from '#lib/files/chunker.ts'
import { Base64Decoder } from '#lib/files/upload/base64_decoder.ts'
import { extractStrings } from '#lib/files/upload/extract_strings.ts'

/** The cost of a body for the process that read it, in bytes and milliseconds; `sha256` is of its last attachment, in hex. */
export type Upload = { sha256: string; ms: number }
export type Cost = { grown: number; longest_block_ms: number; cpu_ms: number }

const options = {
  paths: [
    ['attachments', '*', 'content'],
    ['*', 'attachments', '*', 'content'],
  ],
  max_bytes: 10 * 1024 * 1024,
  max_strings: 1_000,
}

/** Reads bodies like the API reads large ones, and drops the chunks that it would store. */
async function readAsStream(request: IncomingMessage): Promise<string> {
  let decoder = new Base64Decoder()
  const chunker = new Chunker()
  let sha256 = ''
  const skeleton = await extractStrings(request, options, ({ bytes, is_last }) => {
    chunker.push(decoder.write(bytes))
    if (!is_last) return
    const end = decoder.end()
    if ('fault' in end) throw new Error(end.fault)
    chunker.push(end.bytes)
    chunker.end()
    sha256 = end.sha256.toString('hex')
    decoder = new Base64Decoder()
  })
  JSON.parse(skeleton.bytes.toString())
  return sha256
}

/** The baseline: reads the whole body, then decodes it as text, as values and as bytes. */
async function readWhole(request: IncomingMessage): Promise<string> {
  const body = Buffer.concat(await request.toArray())
  const { attachments } = JSON.parse(body.toString())
  return hash('sha256', Buffer.from(attachments.at(-1).content, 'base64'))
}

const [how] = process.argv.slice(2)
const read = how === 'whole' ? readWhole : readAsStream
const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()
let before = { rss: 0, cpu: process.cpuUsage() }
let peak = 0
// Not `maxRSS`, which includes the memory of the parent at the fork.
setInterval(() => {
  peak = Math.max(peak, process.memoryUsage.rss())
}, 2)

const server = createServer(async (request, response) => {
  if (request.url === '/begin') {
    before = { rss: process.memoryUsage.rss(), cpu: process.cpuUsage() }
    delay.reset()
    peak = before.rss
    response.end('{}')
  } else if (request.url === '/cost') {
    const { user, system } = process.cpuUsage(before.cpu)
    const cost: Cost = { grown: peak - before.rss, longest_block_ms: delay.max / 1e6, cpu_ms: (user + system) / 1_000 }
    response.end(JSON.stringify(cost))
  } else {
    const start = performance.now()
    const upload: Upload = { sha256: await read(request), ms: performance.now() - start }
    response.end(JSON.stringify(upload))
  }
})
server.listen(0, '127.0.0.1', () => console.log(`port ${(server.address() as AddressInfo).port}`))

import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import type { IncomingHttpHeaders, RequestListener } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { readConfig } from '#lib/config.ts'
import { checkVirus } from '#lib/receiving/verdicts/clamav.ts'
import { checkSpam } from '#lib/receiving/verdicts/rspamd.ts'
import { ALLOWED, startServer, startTcpServer } from '#test/support/http/fetching.ts'
import { makeScratch } from '#test/support/scratch.ts'
import { shows } from '#test/support/shows.ts'

const envelope = {
  address: '192.0.2.1',
  name: 'mx.acme.com',
  helo: 'mx.acme.com',
  mail_from: 'ann@acme.com',
  rcpt_to: ['me@x.com', 'b@x.com'],
}
const raw = Buffer.from('Subject: Hello\r\n\r\nHi\r\n')
const EICAR = 'EICAR-STANDARD-ANTIVIRUS-TEST-FILE'

/** The spam verdict for this response of rspamd. */
async function spamOf(t: Test, answer: RequestListener, { from = envelope, deadline_ms = 5_000 } = {}) {
  const port = await startServer(t, answer)
  return checkSpam(`http://${ALLOWED}:${port}/`, from, raw, { deadline_ms })
}

const actions = {
  'no action': 'PASS',
  greylist: 'GRAY',
  'soft reject': 'GRAY',
  'add header': 'FAIL',
  'rewrite subject': 'FAIL',
  reject: 'FAIL',
  'a word of its operator': 'GRAY',
}
for (const [action, verdict] of Object.entries(actions)) {
  t.test(`rspamd action "${action}" gives ${verdict}`, async t => {
    const says = (body: object) => spamOf(t, (_, response) => response.end(JSON.stringify(body)))
    t.equal(await says({ action, is_skipped: false, score: 1, symbols: {} }), verdict)
    t.equal(await says({ action, is_skipped: true }), verdict === 'PASS' ? 'GRAY' : verdict, 'without a scan')
  })
}

t.test('rspamd gets the client, the envelope and the unchanged message', async t => {
  const heard: { url?: string | undefined; headers: IncomingHttpHeaders; body: Buffer }[] = []
  const answer: RequestListener = async (request, response) => {
    heard.push({ url: `${request.method} ${request.url}`, headers: request.headers, body: await buffer(request) })
    response.end('{"action":"no action"}')
  }
  await spamOf(t, answer)
  await spamOf(t, answer, { from: { ...envelope, mail_from: '', helo: 'a\r\nRcpt: b@x.com ü' } })
  shows(t, heard, [
    {
      url: 'POST /checkv2',
      headers: {
        ip: '192.0.2.1',
        hostname: 'mx.acme.com',
        helo: 'mx.acme.com',
        from: 'ann@acme.com',
        rcpt: 'me@x.com',
      },
      body: raw,
    },
    { headers: { from: '<>', helo: 'aRcpt:b@x.com', rcpt: 'me@x.com' } },
  ])
})

const brokenSpam: Record<string, RequestListener> = {
  'with an error': (_, response) => response.writeHead(500).end('{"action":"no action"}'),
  'with a redirect': (_, response) => response.writeHead(302, { location: '/x' }).end('{"action":"no action"}'),
  'with what is no JSON': (_, response) => response.end('<html>'),
  'with JSON of something else': (_, response) => response.end('[1]'),
  'with too much': (_, response) => response.end(Buffer.alloc(2 * 1024 * 1024, ' ')),
  'and breaks off': (_, response) =>
    response.writeHead(200, { 'content-length': 99 }).write('{', () => response.destroy()),
  'and never ends': (_, response) => response.write('{'),
  'not at all': () => {},
}
for (const [how, answer] of Object.entries(brokenSpam)) {
  t.test(`checkSpam rejects if rspamd responds ${how}`, t => t.rejects(spamOf(t, answer, { deadline_ms: 200 })))
}

t.test('checkSpam rejects if rspamd is unreachable', t => t.rejects(checkSpam('http://localhost:1', envelope, raw)))

/** clamd as its manual describes it: `limit` is its StreamMaxLength. */
async function startClamd(t: Test, limit = 1024 * 1024): Promise<{ host: string; port: number }> {
  const port = await startTcpServer(t, socket => {
    let bytes = Buffer.alloc(0)
    socket.on('data', data => {
      bytes = Buffer.concat([bytes, data])
      const answer = answerOf(bytes, limit)
      if (answer) socket.end(`${answer}\0`)
    })
  })
  return { host: ALLOWED, port }
}

/** Null while the stream continues. */
function answerOf(bytes: Buffer, limit: number): string | null {
  const command = 'zINSTREAM\0'
  if (bytes.length < command.length) return null
  if (bytes.toString('latin1', 0, command.length) !== command) return 'UNKNOWN COMMAND'
  const chunks: Buffer[] = []
  for (let at = command.length; at + 4 <= bytes.length; ) {
    const length = bytes.readUInt32BE(at)
    const content = Buffer.concat(chunks)
    if (length === 0) return content.includes(EICAR) ? 'stream: Win.Test.EICAR_HDB-1 FOUND' : 'stream: OK'
    if (content.length + length > limit) return 'INSTREAM size limit exceeded. ERROR'
    if (at + 4 + length > bytes.length) return null
    chunks.push(bytes.subarray(at + 4, at + 4 + length))
    at += 4 + length
  }
  return null
}

t.test('clamd finds viruses in messages of any length', async t => {
  const clamd = await startClamd(t)
  const edges = [0, 1, 64 * 1024 - 1, 64 * 1024, 64 * 1024 + 1, 500_000]
  for (const length of edges) {
    const clean = Buffer.alloc(length, 'a')
    t.equal(await checkVirus(clamd, clean), 'PASS', `${length} bytes`)
    t.equal(await checkVirus(clamd, Buffer.concat([clean, Buffer.from(EICAR)])), 'FAIL', `${length} bytes and a virus`)
  }
})

t.test('checkVirus rejects for messages beyond the size limit of clamd', async t => {
  const clamd = await startClamd(t, 100_000)
  await t.rejects(checkVirus(clamd, Buffer.alloc(10_000_000)), /size limit exceeded/)
})

t.test('checkVirus connects to a Unix socket', async t => {
  const directory = await makeScratch('clamd-') // the path of a socket has at most 107 bytes
  t.teardown(() => rm(directory, { recursive: true }))
  const path = join(directory, 'clamd.ctl')
  const server = createServer(socket => socket.once('data', () => socket.end('stream: OK\0'))).listen(path)
  await once(server, 'listening')
  t.teardown(() => server.close())
  t.equal(await checkVirus({ path }, raw), 'PASS')
})

const brokenClamd: Record<string, (socket: Socket) => void> = {
  'with an invalid response': socket => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n\0'),
  'with a name that only looks clean': socket => socket.end('stream: OK FOUNDED\0'),
  'with an error': socket => socket.end('stream: Can’t allocate memory ERROR\0'),
  'without an end': socket => socket.end('stream: OK'),
  'with too much': socket => socket.write(Buffer.alloc(1024 * 1024, 'a')),
  'and hangs up': socket => socket.destroy(),
  'not at all': () => {},
}
for (const [how, answer] of Object.entries(brokenClamd)) {
  t.test(`checkVirus rejects if clamd responds ${how}`, async t => {
    const port = await startTcpServer(t, answer)
    await t.rejects(checkVirus({ host: ALLOWED, port }, Buffer.alloc(3_000_000), { deadline_ms: 300 }))
  })
}

t.test('checkVirus rejects at its deadline if clamd reads nothing', async t => {
  const port = await startTcpServer(t, socket => socket.pause())
  const long = Buffer.alloc(20_000_000)
  await t.rejects(checkVirus({ host: ALLOWED, port }, long, { deadline_ms: 100 }), /longer than 100 ms/)
})

t.test('checkVirus rejects if clamd is unreachable', async t => {
  const server = createServer().listen(0, ALLOWED)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  await t.rejects(checkVirus({ host: ALLOWED, port }, raw), { code: 'ECONNREFUSED' })
  await t.rejects(checkVirus({ path: '/nowhere/clamd.ctl' }, raw), { code: 'ENOENT' })
})

t.test('CLAMAV is a Unix socket or a host with a port', async t => {
  const read = (CLAMAV: string) => readConfig({ CLAMAV }).CLAMAV
  t.strictSame(read('unix:/run/clamav/clamd.ctl'), { path: '/run/clamav/clamd.ctl' })
  t.strictSame(read('tcp:clamav:3310'), { host: 'clamav', port: 3310 })
  t.strictSame(read('tcp:[::1]:3310'), { host: '::1', port: 3310 })
  for (const wrong of ['clamd', 'unix:clamd.ctl', 'tcp:3310', 'tcp:a:0', 'tcp:a:70000', 'tcp:::1:3310']) {
    t.throws(() => read(wrong), /CLAMAV: must be/, wrong)
  }
})

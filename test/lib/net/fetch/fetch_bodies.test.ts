import type { RequestListener } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { fetchSafely } from '#lib/net/fetch_safely.ts'
import {
  ALLOWED,
  failureAt,
  failureOf,
  policyOf,
  readFrom,
  startServer,
  startTcpServer,
} from '#test/support/http/fetching.ts'
import { waitUntil } from '#test/support/wait_until.ts'

const MB = 1024 * 1024

/** Writes endlessly, as fast as the client reads, and counts the bytes. */
function startEndless(t: Test, headers: Record<string, string> = {}): Promise<{ port: number; sent: () => number }> {
  let sent = 0
  const chunk = Buffer.alloc(64 * 1024, 'x')
  const answer: RequestListener = (_, response) => {
    response.writeHead(200, headers)
    const write = () => {
      do sent += chunk.length
      while (response.write(chunk))
    }
    response.on('drain', write).on('error', () => {})
    write()
  }
  return startServer(t, answer).then(port => ({ port, sent: () => sent }))
}

t.test('a body at the limit is read, one byte more is refused', async t => {
  const sizes = { '/': MB, '/more': MB + 1 }
  for (const isDeclared of [true, false]) {
    const port = await startServer(t, ({ url }, response) => {
      const body = Buffer.alloc(sizes[url as '/' | '/more'])
      response.writeHead(200, isDeclared ? { 'content-length': body.length } : {}).end(body)
    })
    t.equal((await readFrom(port)).length, MB)
    const failure = await failureOf(readFrom(port, { url: `http://${ALLOWED}:${port}/more` }))
    t.match(failure, { reason: 'The URL responded with too much.', is_permanent: true })
  }
})

t.test('a body of 26 MB with a limit of 25 is refused, with or without Content-Length', async t => {
  const chunk = Buffer.alloc(MB)
  for (const headers of [{ 'content-length': String(26 * MB) }, {}]) {
    const port = await startServer(t, async (_, response) => {
      response.on('error', () => {}).writeHead(200, headers as Record<string, string>)
      for (let n = 0; n < 26 && !response.destroyed; n++) if (!response.write(chunk)) await sleep(1)
      response.end()
    })
    const failure = await failureOf(readFrom(port, { max_bytes: 25 * MB }))
    t.match(failure, { reason: 'The URL responded with too much.', is_permanent: true })
  }
})

t.test('an endless body is an error or is cut at the limit', async t => {
  const { port } = await startEndless(t)
  t.match(await failureOf(readFrom(port)), { reason: 'The URL responded with too much.' })
  const cut = await readFrom(port, { max_bytes: 100_001, excess: 'cut' })
  t.equal(cut.length, 100_001)
})

t.test('a cut body does not wait for data beyond the limit', async t => {
  const port = await startServer(t, (_, response) => {
    response.writeHead(200, { 'content-length': '1000' }).write('x'.repeat(10))
  })
  t.equal(String(await readFrom(port, { max_bytes: 10, excess: 'cut' })), 'x'.repeat(10))
})

t.test('backpressure stops the server, so that nothing accumulates', async t => {
  const { port, sent } = await startEndless(t)
  const url = `http://${ALLOWED}:${port}/`
  const answer = await fetchSafely({ url, max_bytes: 1000 * MB, deadline_ms: 20_000 }, policyOf([port]))
  for await (const chunk of answer.body) {
    t.ok(chunk.length <= 64 * 1024)
    const isStanding = async () => {
      const before = sent()
      await sleep(50)
      return sent() === before
    }
    await waitUntil(isStanding, 'the server waits')
    // The buffers of the sockets on both sides.
    t.ok(sent() < 32 * MB, `${sent()} bytes were sent`)
    break
  }
})

t.test('a false Content-Length is not trusted', async t => {
  const head = 'HTTP/1.1 200 OK\r\nconnection: close\r\n'
  const short = await failureAt(t, socket => socket.end(`${head}content-length: 100\r\n\r\nshort`))
  t.match(short, { reason: 'The response of the URL broke off.', is_permanent: false })

  const port = await startTcpServer(t, socket => {
    socket.once('data', () => socket.end(`${head}content-length: 5\r\n\r\nlonger than it said`))
  })
  const longer = await readFrom(port).then(String, error => error.reason)
  t.ok(['longe', 'The response of the URL broke off.'].includes(longer), longer)

  for (const lengths of [
    '5\r\ncontent-length: 6',
    '-1',
    '5x',
    '5\r\ntransfer-encoding: chunked',
    '99999999999999999999',
  ]) {
    const failure = await failureAt(t, socket => socket.end(`${head}content-length: ${lengths}\r\n\r\nlonger`))
    t.match(failure, { reason: /^The (URL|response)/ }, lengths)
  }
  const chunks = await failureAt(t, socket =>
    socket.end(`${head}transfer-encoding: chunked\r\n\r\n5\r\nlonger\r\n0\r\n\r\n`),
  )
  t.match(chunks, { reason: 'The response of the URL broke off.' })
})

t.test('compressed bodies are refused before they are read', async t => {
  const bomb = gzipSync(Buffer.alloc(10 * MB))
  for (const encoding of ['gzip', 'GZIP', 'br', 'deflate', 'zstd', 'identity, gzip', 'x']) {
    const port = await startServer(t, (_, response) =>
      response.writeHead(200, { 'content-encoding': encoding }).end(bomb),
    )
    const failure = await failureOf(readFrom(port))
    t.match(failure, { reason: 'The URL responded with compressed content.', is_permanent: true }, encoding)
  }
  const transfer = await failureAt(t, socket =>
    socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n'),
  )
  t.match(transfer, { reason: 'The URL responded with compressed content.' })
  const port = await startServer(t, (_, response) =>
    response.writeHead(200, { 'content-encoding': 'identity' }).end('x'),
  )
  t.equal(String(await readFrom(port)), 'x')
})

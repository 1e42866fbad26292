import type { Socket } from 'node:net'
import t from 'tap'
import { fetchSafely } from '#lib/net/fetch_safely.ts'
import { startNameServer } from '#test/support/dns/name_server.ts'
import { failureAt, failureOf, policyOf, readFrom, startServer, startTcpServer } from '#test/support/http/fetching.ts'

const UNREACHABLE = 'The URL could not be fetched: its host does not respond, or is not public and not in FETCH_ALLOW.'
const LATE = 'The server did not respond in time.'

t.test('the deadline holds for servers that keep sending a little', async t => {
  const drip = (text: string) => (socket: Socket) => {
    const timer = setInterval(() => socket.write(text), 10)
    socket.once('close', () => clearInterval(timer))
  }
  const soon = { deadline_ms: 300 }
  const isLate = { reason: LATE, is_permanent: false }
  t.match(await failureAt(t, () => {}, soon), isLate, 'silence')
  t.match(await failureAt(t, drip('\r\n'), soon), { is_permanent: false }, 'empty lines')
  const interim = await failureAt(t, drip('HTTP/1.1 100 Continue\r\n\r\n'), soon)
  t.match(interim, { is_permanent: false }, 'interim answers')
  const slowHeader = (socket: Socket) => {
    socket.write('HTTP/1.1 200 OK\r\nx: ')
    drip('x')(socket)
  }
  t.match(await failureAt(t, slowHeader, soon), isLate, 'a header')
  const slowBody = (socket: Socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n')
    drip('x')(socket)
  }
  const isSlow = { reason: 'The URL responded too slowly.', is_permanent: false }
  t.match(await failureAt(t, slowBody, { deadline_ms: 1_000 }), isSlow, 'a body')
})

t.test('one deadline covers all redirects', async t => {
  const port = await startServer(t, (_, response) => {
    setTimeout(() => response.writeHead(302, { location: '/' }).end(), 20)
  })
  const failure = await failureOf(readFrom(port, { deadline_ms: 300, max_redirects: 1000 }))
  t.match(failure, { is_permanent: false }) // it may expire while connecting to a redirect
})

t.test('a server that hangs up, resets or speaks no HTTP is temporarily unreachable', async t => {
  const isGone = { reason: UNREACHABLE, is_permanent: false }
  t.match(await failureAt(t, socket => socket.end()), isGone, 'hangs up')
  t.match(await failureAt(t, socket => socket.resetAndDestroy()), isGone, 'resets')
  const port = await startTcpServer(t, socket => socket.resetAndDestroy())
  t.match(await failureOf(readFrom(port)), isGone, 'resets at once')
  t.match(await failureOf(readFrom(1)), isGone, 'a closed port')
  t.match(await failureAt(t, socket => socket.end('SSH-2.0-OpenSSH_9.9\r\n')), isGone, 'no HTTP')
  t.match(
    await failureAt(t, socket => socket.end('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n')),
    isGone,
    '101',
  )
  const named = { url: 'http://acme.com/', max_bytes: 1, deadline_ms: 200 }
  const { resolve } = await startNameServer(t, () => null)
  t.match(
    await failureOf(fetchSafely(named, policyOf([80], { resolve }))),
    isGone,
    'names without a responding name server',
  )
})

t.test('endless headers are not read to the end', async t => {
  const isGone = { reason: UNREACHABLE, is_permanent: false }
  const one = await failureAt(t, socket => socket.end(`HTTP/1.1 200 OK\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`))
  t.match(one, isGone)
  let sent = 0
  const many = await failureAt(t, socket => {
    socket.write('HTTP/1.1 200 OK\r\n')
    const write = () => {
      while (!socket.destroyed && socket.write(`x${sent++}: y\r\n`.repeat(100)));
    }
    socket.on('drain', write)
    write()
  })
  t.match(many, isGone)
})

import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import type { Test } from 'tap'
import { startTcpServer } from '#test/support/http/fetching.ts'

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

export type HostileReceiver = {
  port: number
  /** The number of requests per path. */
  requests: Record<string, number>
  /** The number of bytes sent in responses per path. */
  sent: Record<string, { bytes: number }>
}

/** Receives webhooks at `ALLOWED` and treats the sender as the path says: `http://127.0.0.3:port/is_endless`. */
export async function startHostileReceiver(t: Pick<Test, 'teardown'>): Promise<HostileReceiver> {
  const requests: Record<string, number> = {}
  const sent: Record<string, { bytes: number }> = {}
  const port = await startTcpServer(t, socket => {
    let head = ''
    let nth_here = 0
    socket.on('data', chunk => {
      head += chunk
      const path = /^POST \/(\w+) .*?\r\n\r\n/s.exec(head)?.[1]
      // Reads until the whole event has arrived, which ends with its data.
      if (path === undefined || !head.endsWith('}}')) return
      head = ''
      requests[path] = (requests[path] ?? 0) + 1
      sent[path] ??= { bytes: 0 }
      behaviours[path]?.({ socket, nth_here: ++nth_here, sent: sent[path] })
    })
  })
  return { port, requests, sent }
}

type Connection = {
  socket: Socket
  /** The number of this request on its connection, from 1. */
  nth_here: number
  sent: { bytes: number }
}

/** The behaviors of a receiver, by the name in the path. */
export const behaviours: Record<string, (connection: Connection) => void> = {
  is_well: ({ socket }) => socket.write(OK),
  closes: ({ socket }) => socket.end(),
  resets: ({ socket }) => socket.resetAndDestroy(),
  stops_in_headers: ({ socket }) => socket.end('HTTP/1.1 200 OK\r\ncontent-le'),
  is_no_http: ({ socket }) => socket.end('SSH-2.0-OpenSSH_9.9\r\n'),
  upgrades: ({ socket }) => socket.end('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n'),
  has_huge_headers: ({ socket }) => socket.end(`HTTP/1.1 200 OK\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`),
  has_many_headers: ({ socket, sent }) => pour(socket, sent, 'HTTP/1.1 200 OK\r\n', 'x: y\r\n'.repeat(100)),
  hangs: () => {},
  drips_headers: ({ socket }) => drip(socket, 'HTTP/1.1 200 OK\r\nx: ', 'x'),
  drips_interim: ({ socket }) => drip(socket, '', 'HTTP/1.1 103 Early Hints\r\n\r\n'),
  drips_body: ({ socket }) => drip(socket, 'HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n', 'x'),
  is_endless: ({ socket, sent }) => pour(socket, sent, 'HTTP/1.1 200 OK\r\n\r\n', 'x'.repeat(60_000)),
  is_large: ({ socket, sent }) =>
    pour(socket, sent, 'HTTP/1.1 500 Oh\r\ncontent-length: 1073741824\r\n\r\n', 'x'.repeat(60_000)),
  is_no_gzip: ({ socket }) => socket.end('HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 5\r\n\r\nhello'),
  is_a_bomb: ({ socket }) => {
    const bomb = gzipSync(Buffer.alloc(10_000_000))
    socket.write(`HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${bomb.length}\r\n\r\n`)
    socket.end(bomb)
  },
  lies_about_length: ({ socket }) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nok'),
  says_nul: ({ socket }) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n\0\xff\0x', 'latin1'),
  asks_twice: ({ socket }) =>
    socket.end('HTTP/1.1 503 No\r\nretry-after: x\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n'),
  answers_twice: ({ socket }) => socket.write(OK + OK),
  loops: ({ socket }) => socket.end('HTTP/1.1 302 Found\r\nlocation: /loops\r\ncontent-length: 0\r\n\r\n'),
  closes_kept: ({ socket, nth_here }) => (nth_here === 1 ? socket.write(OK) : socket.destroy()),
}

function pour(socket: Socket, sent: { bytes: number }, head: string, chunk: string): void {
  socket.write(head)
  const write = () => {
    while (!socket.destroyed && sent.bytes < 2 ** 30 && socket.write(chunk)) sent.bytes += chunk.length
  }
  socket.on('drain', write)
  write()
}

function drip(socket: Socket, head: string, text: string): void {
  socket.write(head)
  const timer = setInterval(() => socket.write(text), 20)
  socket.once('close', () => clearInterval(timer))
}

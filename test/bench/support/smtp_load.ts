import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/**
 * The load generator of inbound mail, a separate process: different messages over several sessions. Prints the seconds it took. It
 * uses sockets directly, since an SMTP client takes as much CPU time as the server. It sends one command at a time, like most
 * libraries do.
 */
const { LOAD_PORT = '', LOAD_COUNT = '1000', LOAD_SESSIONS = '50', LOAD_BYTES = '4096', LOAD_TO = '' } = process.env
const run = process.hrtime.bigint()
const line = `${'0123456789 abcdefghij'.repeat(3)}\r\n`
const body = line.repeat(Math.ceil(Number(LOAD_BYTES) / line.length))
let left = Number(LOAD_COUNT)

async function open(): Promise<Socket> {
  const socket = connect(Number(LOAD_PORT), '127.0.0.1')
  socket.setNoDelay(true)
  await once(socket, 'connect')
  await replies(socket, 1)
  socket.write('EHLO load.test\r\n')
  await replies(socket, 1)
  return socket
}

async function send(socket: Socket): Promise<void> {
  while (left > 0) {
    const n = left--
    for (const command of [`MAIL FROM:<a@y.com>`, `RCPT TO:<${LOAD_TO}>`, 'DATA']) {
      socket.write(`${command}\r\n`)
      expect(await replies(socket, 1), /^(250|354) /)
    }
    socket.write(`From: a@y.com\r\nTo: ${LOAD_TO}\r\nMessage-ID: <${run}.${n}@y.com>\r\nSubject: ${n}\r\n\r\n`)
    socket.write(`${body}.\r\n`)
    expect(await replies(socket, 1), /^250 /)
  }
  socket.end()
}

function expect(said: string, pattern: RegExp): void {
  if (!pattern.test(said)) throw new Error(said)
}

/** Reads this many replies; the last line of each has a space after the code. */
function replies(socket: Socket, count: number): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = ''
    const finish = (error: Error | null) => {
      socket.off('data', onData).off('error', finish).off('end', onEnd)
      if (error) reject(error)
      else resolve(said)
    }
    const onEnd = () => finish(new Error(`The connection ended after ${JSON.stringify(said)}`))
    const onData = (chunk: Buffer) => {
      said += chunk.toString('latin1')
      if (said.endsWith('\r\n') && (said.match(/^\d{3} /gm)?.length ?? 0) >= count) finish(null)
    }
    socket.on('data', onData).on('error', finish).on('end', onEnd)
  })
}

const sockets = await Promise.all(Array.from({ length: Number(LOAD_SESSIONS) }, open))
const start = performance.now()
await Promise.all(sockets.map(send))
console.log(JSON.stringify({ seconds: (performance.now() - start) / 1000 }))

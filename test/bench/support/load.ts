import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/**
 * The load generator, a separate process: posts an email many times over several connections. Prints when it began (epoch, ms) and
 * the seconds it took.
 *
 * It uses sockets directly, like wrk: an HTTP client takes as much CPU time as the server, on the same two cores.
 */
const { LOAD_URL = '', LOAD_KEY = '', LOAD_COUNT = '1000', LOAD_CONNECTIONS = '32', LOAD_BODY = '{}' } = process.env
const { LOAD_NUMBER = '' } = process.env
const batch = Number(process.env.LOAD_BATCH)
const body = batch > 0 ? `[${Array(batch).fill(LOAD_BODY).join()}]` : LOAD_BODY
const { host, hostname, port, pathname } = new URL(LOAD_URL)
const headers = [
  `POST ${pathname} HTTP/1.1`,
  `Host: ${host}`,
  `Authorization: Bearer ${LOAD_KEY}`,
  'Content-Type: application/json',
  'User-Agent: bench',
  `Content-Length: ${Buffer.byteLength(body)}`,
]
const request = Buffer.from(`${headers.join('\r\n')}\r\n\r\n${body}`)
const numbers = LOAD_NUMBER ? [...placesOf(LOAD_NUMBER)] : []
let left = Number(LOAD_COUNT)
let emails = 0

function* placesOf(text: string): Generator<number> {
  for (let at = request.indexOf(text); at >= 0; at = request.indexOf(text, at + text.length)) yield at
}

/** The request, with a different number in each email. */
function nextRequest(): Buffer {
  if (numbers.length === 0) return request
  const next = Buffer.from(request)
  for (const at of numbers) next.write(String(++emails).padStart(LOAD_NUMBER.length, '0'), at, 'latin1')
  return next
}

async function post(): Promise<void> {
  const socket = connect(Number(port), hostname)
  socket.setNoDelay(true)
  await once(socket, 'connect')
  while (left-- > 0) {
    socket.write(nextRequest())
    const answer = await readAnswer(socket)
    if (!answer.startsWith('HTTP/1.1 200 ')) throw new Error(answer)
  }
  socket.end()
}

/** Reads one response, whose length is in its header. */
function readAnswer(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = ''
    const finish = (error: Error | null) => {
      socket.off('data', onData).off('error', finish).off('end', onEnd)
      if (error) reject(error)
      else resolve(answer)
    }
    const onEnd = () => finish(new Error(`The connection ended after ${JSON.stringify(answer)}`))
    const onData = (chunk: Buffer) => {
      answer += chunk.toString('latin1')
      const head = answer.indexOf('\r\n\r\n')
      const length = /\r\ncontent-length: (\d+)/i.exec(answer)?.[1]
      if (head >= 0 && answer.length >= head + 4 + Number(length)) finish(null)
    }
    socket.on('data', onData).on('error', finish).on('end', onEnd)
  })
}

const began = Date.now()
const start = performance.now()
await Promise.all(Array.from({ length: Number(LOAD_CONNECTIONS) }, post))
console.log(JSON.stringify({ began, seconds: (performance.now() - start) / 1000 }))

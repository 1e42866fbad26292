import { connect, type NetConnectOpts, type Socket } from 'node:net'
import { PatientTimer } from '#lib/async/patient_timer.ts'
import type { Verdict } from './verdict.ts'

const DEADLINE_MS = 30_000
const MAX_ANSWER = 4_096
const CHUNK = 64 * 1024

/**
 * Asks ClamAV's clamd whether a message has a virus, with its INSTREAM command (clamd(8)): chunks preceded by their lengths,
 * ending with a length of zero. The next chunk is sent when clamd has accepted the previous one.
 *
 * @throws if clamd does not respond, or reports that it could not scan, such as beyond its StreamMaxLength
 */
export async function checkVirus(
  clamd: NetConnectOpts,
  raw: Buffer,
  { deadline_ms = DEADLINE_MS }: { deadline_ms?: number } = {},
): Promise<Verdict> {
  const socket = connect(clamd)
  const giveUp = () => socket.destroy(new Error(`clamd took longer than ${deadline_ms} ms`))
  const timer = new PatientTimer(deadline_ms, giveUp)
  try {
    // Reads from the start, since clamd replies early and closes when it has received too much.
    const answer = readAnswer(socket)
    answer.catch(() => {})
    await writeStream(socket, raw).catch(() => {}) // the reader reports the better error
    return verdictOf(await answer)
  } finally {
    timer.clear()
    socket.destroy()
  }
}

async function writeStream(socket: Socket, raw: Buffer): Promise<void> {
  await write(socket, Buffer.from('zINSTREAM\0'))
  for (let at = 0; at < raw.length; at += CHUNK) {
    const chunk = raw.subarray(at, at + CHUNK)
    await write(socket, lengthOf(chunk.length))
    await write(socket, chunk)
  }
  await write(socket, lengthOf(0))
}

function write(socket: Socket, bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('close', reject)
    socket.write(bytes, error => {
      socket.off('close', reject)
      if (error) reject(error)
      else resolve()
    })
  })
}

function lengthOf(bytes: number): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes)
  return length
}

/** Reads the reply up to its NUL. */
function readAnswer(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    socket.setEncoding('latin1')
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('clamd closed the connection')))
    socket.on('data', (part: string) => {
      text += part
      const [answer, ...rest] = text.split('\0')
      if (rest.length > 0) resolve(answer as string)
      else if (text.length > MAX_ANSWER) reject(new Error('clamd responded with too much'))
    })
  })
}

function verdictOf(answer: string): Verdict {
  if (answer === 'stream: OK') return 'PASS'
  if (/^stream: .+ FOUND$/.test(answer)) return 'FAIL'
  throw new Error(`clamd responded with "${answer.slice(0, 200)}"`)
}

import { connect } from 'node:net'
import { printable } from '#lib/delivery/smtp/errors.ts'

/** Longest greeting that is read (RFC 5321 section 4.5.3.1.5 allows 512). */
const MAX_LENGTH = 1_000

/** Longest greeting that is shown. */
const MAX_SHOWN = 200

/** Resolves to the first line that a server sends; sends nothing to it. @throws {Error} if it refuses, is silent or hangs up */
export function readGreeting(host: string, port: number, deadline_ms: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port })
    let text = ''
    const settle = (act: () => void) => {
      clearTimeout(timer)
      socket.destroy()
      act()
    }
    const fail = (reason: string) => settle(() => reject(new Error(reason)))
    const timer = setTimeout(() => {
      fail(socket.connecting ? 'no connection was made' : 'connected, but it said nothing')
    }, deadline_ms)
    socket.setEncoding('latin1')
    socket.on('error', error => fail((error as NodeJS.ErrnoException).code ?? error.message))
    socket.on('end', () => fail('it hung up'))
    socket.on('data', (chunk: string) => {
      text += chunk
      const [line, rest] = text.split(/\r?\n/, 2)
      if (rest !== undefined || text.length > MAX_LENGTH)
        settle(() => resolve(printable(line as string).slice(0, MAX_SHOWN)))
    })
  })
}

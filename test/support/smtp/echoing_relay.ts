import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'

export type EchoingRelay = { port: number; logins: string[] }

/** A relay that refuses every login and repeats in its reply what it was sent, with additional given text. */
export async function startEchoingRelay(t: Test, words: string): Promise<EchoingRelay> {
  const logins: string[] = []
  const server = createServer(socket => {
    socket.on('error', () => {})
    socket.write('220 relay\r\n')
    createInterface({ input: socket }).on('line', line => {
      if (line.startsWith('EHLO')) socket.write('250-relay\r\n250 AUTH PLAIN\r\n')
      else if (line.startsWith('AUTH')) {
        logins.push(line)
        const told = Buffer.from(line.split(' ').at(-1) ?? '', 'base64')
        socket.write(
          `535-5.7.8 Refused: ${line}\r\n535-5.7.8 ${told}\r\n535 5.7.8 ${told.toString().split('\0').at(-1)} ${words}\r\n`,
        )
      } else socket.end('221 Bye\r\n')
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return { port: (server.address() as AddressInfo).port, logins }
}

import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import type { Test } from 'tap'

/** Type and length of BackendKeyData, before a process id of 4 bytes (https://www.postgresql.org/docs/current/protocol-message-formats.html). */
const KEY_DATA = Buffer.from('K\0\0\0\x0C')

/** Starts a pooler of sessions: it passes everything on, but reports a process id of its own, like PgBouncer. Returns its url. */
export async function startPooler(t: Test, url: string): Promise<string> {
  const [{ port, hostname }, own] = [new URL(url), new URL(url)]
  const pooler = createServer(client => {
    const server = connect(Number(port), hostname)
    server.on('data', data => {
      const at = data.indexOf(KEY_DATA)
      if (at >= 0) data.writeInt32BE(1, at + KEY_DATA.length)
      client.write(data)
    })
    client.on('data', data => server.write(data))
    client.on('close', () => server.destroy())
    server.on('close', () => client.destroy())
  })
  t.teardown(() => pooler.close())
  await once(pooler.listen(0, '127.0.0.1'), 'listening')
  own.port = String((pooler.address() as AddressInfo).port)
  return own.href
}

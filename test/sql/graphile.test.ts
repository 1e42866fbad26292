import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import t, { type Test } from 'tap'
import { openGraphilePool, silentLogger } from '#sql/graphile.ts'
import { createDatabase } from '#test/support/database/database.ts'

const url = await createDatabase(t)

t.test('connections of graphile-worker do not wait for the disk, except behind a pooler', async t => {
  t.equal(await waitsForDisk(t, url), 'off')
  t.equal(await waitsForDisk(t, await startPooler(t)), 'on')
})

async function waitsForDisk(t: Test, url: string): Promise<string> {
  const pool = openGraphilePool(url, 1, silentLogger)
  t.teardown(() => pool.end())
  return (await pool.query('SHOW synchronous_commit')).rows[0].synchronous_commit
}

/** Type and length of BackendKeyData, before a process id of 4 bytes (https://www.postgresql.org/docs/current/protocol-message-formats.html). */
const KEY_DATA = Buffer.from('K\0\0\0\x0C')

/** Passes everything on, but reports a process id of its own, like PgBouncer. Returns its url. */
async function startPooler(t: Test): Promise<string> {
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

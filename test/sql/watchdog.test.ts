import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t from 'tap'
import { cutOff, Watchdog } from '#sql/watchdog.ts'

// Accepts connections but never replies, like a Postgres in a black hole or without time for new connections.
const server = createServer(socket => socket.on('error', () => {})).listen(0, '127.0.0.1')
await once(server, 'listening')
t.teardown(() => server.close())
const url = `postgres://a:b@127.0.0.1:${(server.address() as AddressInfo).port}/c`

const nextProbe = async () => {
  const [socket] = (await once(server, 'connection')) as [Socket]
  socket.resume()
  await new Promise(resolve => socket.once('close', resolve)) // also by a reset
}

t.test('a statement fails when Postgres does not respond', async t => {
  const watchdog = new Watchdog(url)
  await t.rejects(
    watchdog.watch(() => new Promise(() => {})),
    { message: 'Postgres does not reply' },
  )
  t.equal(watchdog.isSilent, true)
})

t.test('a slow statement does not fail while Postgres responds to others', async t => {
  const watchdog = new Watchdog(url)
  const slow = Promise.withResolvers<string>()
  const outcome = watchdog.watch(() => slow.promise)
  let isProbed = false
  const probed = nextProbe().then(() => {
    isProbed = true
  })
  while (!isProbed) await watchdog.watch(() => sleep(50))
  await probed
  slow.resolve('answer')
  t.equal(await outcome, 'answer')
  t.equal(watchdog.isSilent, false)
})

t.test('a connection that is still being made is closed at once', async t => {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  const connected = client.connect()
  const stream = client.connection.stream as Socket
  t.equal(stream.connecting, true)
  cutOff(client)
  t.equal(stream.destroyed, true)
  await t.rejects(connected)
})

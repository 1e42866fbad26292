import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { startApi } from '#test/support/api.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t, { SENDS_PER_MINUTE: '0' })
const [slow, other] = [await newAccount(world), await newAccount(world)]
const api = await startApi(t, world, slow.key)
const { port } = new URL(api.url)

const MEGABYTE = 1024 * 1024

/** Opens requests of `slow` that send the beginning of their bodies and then stall. */
async function stall(t: Test, count: number, path: string, length: number, begin: string): Promise<Socket[]> {
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: x',
    'User-Agent: x',
    `Authorization: Bearer ${slow.key}`,
    `Content-Length: ${length}`,
    'Expect: 100-continue',
  ]
  const sockets = Array.from({ length: count }, () => connect(Number(port), '127.0.0.1'))
  t.teardown(() => sockets.map(socket => socket.destroy()))
  await Promise.all(sockets.map(socket => once(socket, 'connect')))
  for (const socket of sockets) socket.write(`${head.join('\r\n')}\r\n\r\n`)
  await Promise.all(sockets.map(socket => once(socket, 'data'))) // the server has sent 100 Continue to each
  for (const socket of sockets) socket.write(begin)
  // Each takes several turns of the event loop, so that the stalled requests reach the point where they wait.
  for (let n = 0; n < 5; n++) await api.request('GET', '/api/emails')
  return sockets
}

/** Asserts that a later request of `slow` waits for its share, while one of `other` is served. */
async function servesOther(t: Test, stalled: Socket[], path: string, body: (from: string) => unknown): Promise<void> {
  let isAnswered = false
  const own = api.request('POST', path, { body: body(`a@${slow.domain}`) }).finally(() => {
    isAnswered = true
  })
  const { status } = await api.request('POST', path, { key: other.key, body: body(`a@${other.domain}`) })
  t.equal(status, 200)
  t.notOk(isAnswered)
  for (const socket of stalled) socket.destroy()
  const { status: later, text } = await own
  t.equal(later, 200, text)
}

t.test('slow bodies of one account leave room for another account', async t => {
  const text = 'x'.repeat(900_000)
  const email = (from: string) => ({ from, to: 'b@b.com', subject: 'Hi', text })
  const stalled = await stall(t, 40, '/api/suppressions', MEGABYTE, '{"email":')
  await servesOther(t, stalled, '/api/emails', email)
})

t.test('slow short bodies of one account leave room for another account', async t => {
  const stalled = await stall(t, 600, '/api/suppressions', 64 * 1024, '{"email":')
  await servesOther(t, stalled, '/api/emails', from => ({ from, to: 'b@b.com', subject: 'Hi', text: 'x' }))
})

t.test('slow uploads of one account leave room for another account', async t => {
  const content = Buffer.alloc(MEGABYTE).toString('base64')
  const email = (from: string) => ({ from, to: 'b@b.com', subject: 'Hi', attachments: [{ filename: 'a', content }] })
  const stalled = await stall(t, 20, '/api/emails', 2 * MEGABYTE, '{"attachments":[{"content":"AAAA')
  await servesOther(t, stalled, '/api/emails', email)
})

import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { createApp } from '#api/app.ts'
import { createHttpServer } from '#api/server.ts'
import { createLog } from '#lib/log.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const logged: string[] = []
const app = createApp({ ...world, log: createLog('error', { write: line => void logged.push(line) }) })
const server = createHttpServer(app).listen(0, '127.0.0.1')
await once(server, 'listening')
t.teardown(() => server.close())
t.teardown(() => server.closeAllConnections())
t.teardown(() => app.close())

const usual = `Host: a\r\nUser-Agent: test\r\nAuthorization: Bearer ${account.key}\r\nConnection: close\r\n`

/** Sends a text over a new connection; returns all that the server writes until it closes. */
function exchange(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const { port } = server.address() as { port: number }
    const socket = connect(port, '127.0.0.1').setEncoding('latin1')
    let answer = ''
    socket.on('data', chunk => {
      answer += chunk
    })
    socket.on('end', () => resolve(answer))
    socket.on('error', reject)
    socket.write(text, 'latin1')
  })
}

function envelopeOf(answer: string) {
  const [head = '', body = ''] = answer.split('\r\n\r\n')
  const status = Number(head.split(' ')[1])
  const length = Number(/content-length: (\d+)/i.exec(head)?.[1])
  return { status, isJson: /^content-type: application\/json/im.test(head), length, body: JSON.parse(body) }
}

const malformed = 'The HTTP request is malformed.'
const tooLarge = 'The headers of the request are too large.'

for (const [what, request, status, message] of [
  ['no HTTP', 'hello\r\n\r\n', 400, malformed],
  ['an unknown version', 'GET /api/emails HTTP/7.3\r\nHost: a\r\n\r\n', 400, malformed],
  ['a method that nobody knows', `BREW /api/emails HTTP/1.1\r\n${usual}\r\n`, 400, malformed],
  ['a header without a name', `GET /api/emails HTTP/1.1\r\n: x\r\n${usual}\r\n`, 400, malformed],
  ['a space in the target', `GET /api /emails HTTP/1.1\r\n${usual}\r\n`, 400, malformed],
  ['a target of more than ASCII', `GET /api/emails/\xff HTTP/1.1\r\n${usual}\r\n`, 400, malformed],
  ['a length that is not a number', `POST /api/emails HTTP/1.1\r\n${usual}Content-Length: x\r\n\r\n`, 400, malformed],
  [
    'two lengths',
    `POST /api/emails HTTP/1.1\r\n${usual}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`,
    400,
    malformed,
  ],
  [
    'a length and chunks',
    `POST /api/emails HTTP/1.1\r\n${usual}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    400,
    malformed,
  ],
  [
    'chunks that are none',
    `POST /api/emails HTTP/1.1\r\n${usual}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
    400,
    malformed,
  ],
  ['no Host', 'GET /api/emails HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'Missing `Host` header.'],
  ['a header of 20 KB', `GET /api/emails HTTP/1.1\r\n${usual}X: ${'x'.repeat(20_000)}\r\n\r\n`, 431, tooLarge],
  ['3,000 headers', `GET /api/emails HTTP/1.1\r\n${usual}${'X: Y\r\n'.repeat(3_000)}\r\n`, 431, tooLarge],
] as const) {
  t.test(`${what} gets the error envelope with ${status}`, async t => {
    const answer = envelopeOf(await exchange(request))
    t.match(answer, { status, isJson: true, body: { statusCode: status, name: 'validation_error', message } })
    t.equal(answer.length, JSON.stringify(answer.body).length)
  })
}

t.test('any request target gets the error envelope', async t => {
  for (const target of [
    '/api/emails/%',
    '/api/emails/%00',
    '/api/emails/%ff%fe',
    '/api/emails/..%2f..%2fetc',
    '/api/../healthz',
    '/api/emails/constructor',
    `/api/${'x'.repeat(8_000)}`,
    'http://elsewhere.com/api/nothing',
    '*',
  ]) {
    const answer = envelopeOf(await exchange(`GET ${target} HTTP/1.1\r\n${usual}\r\n`))
    t.match(answer, { status: 404, isJson: true, body: { statusCode: 404, name: 'not_found' } }, target.slice(0, 30))
  }
})

t.test('a client that disconnects within its body affects no request under way', async t => {
  const { port } = server.address() as { port: number }
  const body = JSON.stringify({ from: `a@${account.domain}`, to: 'b@b.com', subject: 'Hi' })
  const head = `POST /api/emails HTTP/1.1\r\n${usual}Content-Length: ${body.length}\r\n\r\n`
  const begin = async () => {
    const arrived = once(server, 'request')
    const socket = connect(port, '127.0.0.1').setEncoding('latin1')
    socket.write(head + body.slice(0, 20))
    await arrived
    return socket
  }
  const [ended, reset, other] = [await begin(), await begin(), await begin()]
  ended.end()
  reset.resetAndDestroy()
  await once(ended.resume(), 'close')
  other.write(body.slice(20))
  shows(t, envelopeOf((await other.toArray()).join('')), { status: 200 })
  t.equal((await world.pool.pg.query('SELECT FROM emails')).rowCount, 1, 'the others have sent nothing')
  shows(t, logged, [], 'no error of the server')
})

t.test('an unknown Expect is ignored, and 100-continue is answered', async t => {
  t.match(envelopeOf(await exchange(`GET /api/emails HTTP/1.1\r\n${usual}Expect: magic\r\n\r\n`)), { status: 200 })
  const answer = await exchange(
    `POST /api/emails HTTP/1.1\r\n${usual}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}`,
  )
  t.match(answer, /^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 422 /)
})

t.test('HTTP/1.0 without a Host is served', async t => {
  const request = `GET /api/emails HTTP/1.0\r\n${usual.replace('Host: a\r\n', '')}\r\n`
  t.match(envelopeOf(await exchange(request)), { status: 200 })
})

t.test('a HEAD has the status of its GET and no body', async t => {
  t.match(await exchange(`HEAD /api/emails HTTP/1.1\r\n${usual}\r\n`), /^HTTP\/1.1 200 OK\r\n(.+\r\n)+\r\n$/)
  t.match(await exchange(`HEAD /api/nothing HTTP/1.1\r\n${usual}\r\n`), /^HTTP\/1.1 404 Not Found\r\n(.+\r\n)+\r\n$/)
})

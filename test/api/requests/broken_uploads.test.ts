import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import t from 'tap'
import { startProxiedApi } from '#test/support/api.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const { pg } = world.pool
const { api, proxy } = await startProxiedApi(t, world, account.key)

const SHORT = 1_000
const SMALL = 100_000
const LARGE = 3 * 1024 * 1024
const unavailable = { status: 503, body: { name: 'sending_service_unavailable' } }

const bodyWith = (size: number) => {
  const attachments = [{ filename: 'x', content: randomBytes(size).toString('base64') }]
  return JSON.stringify({ from: `ann@${account.domain}`, to: 'bob@b.com', subject: 'Hi', attachments })
}

const send = (size: number) => api.request('POST', '/api/emails', { raw: bodyWith(size) })

async function countBlobs(): Promise<number> {
  return (await pg.query('SELECT count(*)::int AS count FROM blobs')).rows[0].count
}

for (const [table, sizes] of Object.entries({ blobs: [SHORT, SMALL, LARGE], blob_chunks: [SMALL, LARGE] })) {
  t.test(`a full disk (${table}) refuses files with 503`, async t => {
    await pg.query(`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'full' USING ERRCODE = '53100'; END $$;
      CREATE TRIGGER refuse BEFORE INSERT ON ${table} EXECUTE FUNCTION refuse()`)
    for (const size of sizes) t.match(await send(size), unavailable)
    await pg.query('DROP FUNCTION refuse CASCADE')
    for (const size of sizes) t.match(await send(size), { status: 200 })
  })
}

t.test('a lost Postgres connection during an upload is a 503', async t => {
  const ofLong = ['INSERT INTO blobs', 'INSERT INTO blob_chunks', 'SET sha256']
  const statements = { [SHORT]: ['insert_short_blob'], [SMALL]: ofLong, [LARGE]: ofLong }
  for (const [size, texts] of Object.entries(statements)) {
    for (const text of texts) {
      const lost = proxy.cutRequest(text)
      t.match(await send(Number(size)), unavailable, `${text}, ${size}`)
      await lost
    }
  }
})

t.test('uploads whose clients disconnect leave no blobs', async t => {
  const before = await countBlobs()
  const { port } = new URL(api.url)
  const body = bodyWith(LARGE)
  const head = `POST /api/emails HTTP/1.1\r\nHost: x\r\nUser-Agent: x\r\nAuthorization: Bearer ${account.key}\r\n`
  const sockets = Array.from({ length: 40 }, () => {
    const socket = connect(Number(port), '127.0.0.1')
    socket.write(`${head}Content-Length: ${body.length}\r\n\r\n${body.slice(0, body.length / 2)}`)
    return socket.on('error', () => {})
  })
  // The most uploads that one account may have at once.
  await waitUntil(async () => (await countBlobs()) >= before + 12, '12 uploads are under way')
  for (const socket of sockets) socket.resetAndDestroy()
  await waitUntil(async () => (await countBlobs()) <= before, 'nothing is left of them')
  t.match(await send(LARGE), { status: 200 })
})

t.test('a connection is closed if its body was not read to the end', async t => {
  const { headers, status } = await api.request('POST', '/api/emails', { raw: `{"html":"${'x'.repeat(11 << 20)}"}` })
  t.equal(status, 422)
  t.equal(headers.get('connection'), 'close')
})

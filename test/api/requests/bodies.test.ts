import { gzipSync } from 'node:zlib'
import t from 'tap'
import { type RequestOptions, startApi } from '#test/support/api.ts'
import { cpuMs } from '#test/support/cpu_time.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const email = { from: `ann@${account.domain}`, to: ['bob@b.com'], subject: 'Hi' }
const json = JSON.stringify(email)

const MAX_BYTES = 10 * 1024 * 1024
const padded = (bytes: number) => Buffer.from(json.padEnd(bytes))
const post = (options: RequestOptions) => api.request('POST', '/api/emails', options)
const refused = (message: RegExp) => ({ status: 422, body: { statusCode: 422, name: 'validation_error', message } })

t.test('a body that is not a JSON object is refused', async t => {
  const notJson = /^The body is not valid JSON\.$/
  const noObject = /^The body must be an object\.$/
  for (const [raw, message] of [
    ['', noObject],
    ['null', noObject],
    ['[]', noObject],
    [`[${json}]`, noObject],
    ['"text"', noObject],
    ['7', noObject],
    ['{', notJson],
    [json.slice(0, -1), notJson],
    [`${json}x`, notJson],
    [json.replaceAll('"', "'"), notJson],
    [`/* */${json}`, notJson],
    [Buffer.from(json, 'utf16le'), notJson],
    [Buffer.from(`{"subject":"\xff"}`, 'latin1'), notJson],
    ['{"a":NaN}', notJson],
    ['{"subject":"\\u0000"}', /^The body cannot be stored: subject contains a NUL character\.$/],
    ['{"subject":"\\ud800"}', /^The body cannot be stored: subject contains a lone surrogate\.$/],
    ['{"x":{"\\udc00":1}}', /^The body cannot be stored: x has a key that contains a lone surrogate\.$/],
  ] as const) {
    t.match(await post({ raw }), refused(message), JSON.stringify(String(raw).slice(0, 40)))
  }
})

t.test('a byte order mark is accepted', async t => {
  t.match(await post({ raw: `\ufeff${json}` }), { status: 200 })
})

t.test('a body has at most 10 MiB, by length or in chunks', async t => {
  t.match(await post({ raw: padded(MAX_BYTES) }), { status: 200 })

  const tooLarge = refused(/^The body is larger than 10485760 bytes\.$/)
  const { headers, ...answer } = await post({ raw: padded(MAX_BYTES + 1) })
  t.match(answer, tooLarge)
  t.equal(headers.get('connection'), 'close')
  t.match(await post({ raw: padded(5 * MAX_BYTES) }), tooLarge)
  t.match(await postChunks(padded(MAX_BYTES + 1)), tooLarge)
})

async function postChunks(bytes: Buffer) {
  const response = await fetch(`${api.url}/api/emails`, {
    method: 'POST',
    headers: { authorization: `Bearer ${account.key}` },
    body: new Blob([bytes]).stream(),
    duplex: 'half',
  })
  return { status: response.status, body: await response.json() }
}

t.test('a compressed body or an unknown Content-Encoding is refused', async t => {
  for (const encoding of ['gzip', 'br', 'deflate', 'zstd', 'gzip, identity', 'x'.repeat(5_000)]) {
    const answer = await post({ raw: gzipSync(padded(MAX_BYTES)), headers: { 'content-encoding': encoding } })
    t.match(answer, refused(/^Content-Encoding `.{1,50}` is not supported\.$/))
  }
  t.match(await post({ body: email, headers: { 'content-encoding': 'identity' } }), { status: 200 })
})

t.test('a body is read as JSON whatever its Content-Type', async t => {
  for (const type of ['application/json; charset=utf-8', 'text/plain', 'application/x-www-form-urlencoded', 'x']) {
    t.match(await post({ body: email, headers: { 'content-type': type } }), { status: 200 })
  }
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  t.match(await post({ raw: 'from=a%40b.com&to=c%40d.com', headers: form }), refused(/not valid JSON/))
  const multipart = { 'content-type': 'multipart/form-data; boundary=x' }
  t.match(await post({ raw: '--x\r\n\r\n{}\r\n--x--', headers: multipart }), refused(/not valid JSON/))
})

t.test('a GET with a Content-Type but no body is served', async t => {
  t.match(await api.request('GET', '/api/emails', { headers: { 'content-type': 'application/json' } }), { status: 200 })
})

t.test('a body with millions of values is refused without much CPU', async t => {
  const many = (count: number, text: string) => `[${Array(count).fill(text)}]`
  const names = Array.from({ length: 500_000 }, (_, i) => `"x-${i}":1`)
  for (const [field, value] of [
    ['to', many(4_000_000, '1')],
    ['to', many(1_500_000, '"x"')],
    ['cc', many(800_000, '"a@b.com"')],
    ['reply_to', many(800_000, '"a@b.com"')],
    ['tags', many(4_000_000, '1')],
    ['attachments', many(4_000_000, '1')],
    ['headers', `{${names}}`],
  ]) {
    const raw = `{"subject":"Hi","from":"a@b.com","to":"a@b.com","${field}":${value}}`
    const ms = await cpuMs(async () => t.match(await post({ raw }), refused(/./)))
    t.ok(ms < 2_500, `${field}: ${ms} ms`) // 3 to 9 seconds if each value was validated
  }
})

t.test('duplicate and trailing slashes and any case name the same route', async t => {
  for (const path of ['//api//emails', '/api/emails/', '/API/Emails']) {
    t.match(await api.request('POST', path, { body: email }), { status: 200 }, path)
    t.match(await api.request('POST', path, { body: email, key: null }), { status: 401 }, path)
  }
})

import { createHash, randomBytes } from 'node:crypto'
import t from 'tap'
import { startApi } from '#test/support/api.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)

const MB = 1024 * 1024
const emailWith = (...contents: unknown[]) => ({
  ...{ from: `ann@${account.domain}`, to: 'bob@b.com', subject: 'Hi' },
  attachments: contents.map((content, n) => ({ filename: `${n}.bin`, content })),
})
const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  api.request('POST', `/api${path}`, { body, headers })
const sha = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

async function hashes(id: unknown): Promise<string[]> {
  const query = `SELECT encode(b.sha256, 'hex') AS sha FROM attachments a JOIN blobs b ON b.id = a.blob_id
    WHERE a.email_id = $1 ORDER BY a.filename`
  return (await world.pool.pg.query(query, [id])).rows.map(row => row.sha)
}

t.test('a file can be a list of bytes, which the libraries of Resend for Go, Ruby, Rust and Python send', async t => {
  for (const size of [0, 3, 30_000, MB]) {
    const file = randomBytes(size)
    const { status, body } = await post('/emails', emailWith([...file], file.toString('base64')))
    t.strictSame([status, await hashes(body.id)], [200, [sha(file), sha(file)]], `${size} bytes`)
  }
})

t.test('a file can be a Buffer as JSON, which older versions of the resend package send', async t => {
  for (const size of [3, 30_000, MB]) {
    const file = randomBytes(size)
    const { status, body } = await post('/emails/batch', [emailWith(file), emailWith(file.toString('base64'), file)])
    const ids = (body.data as { id: string }[]).map(({ id }) => id)
    t.equal(status, 200)
    t.strictSame(await Promise.all(ids.map(hashes)), [[sha(file)], [sha(file), sha(file)]], `${size} bytes`)
  }
})

t.test('a file is the same for an Idempotency-Key, whatever its form', async t => {
  const headers = { 'idempotency-key': 'forms' }
  const file = randomBytes(1_000)
  const first = await post('/emails', emailWith(file.toString('base64')), headers)
  for (const form of [[...file], file]) shows(t, await post('/emails', emailWith(form), headers), { body: first.body })
  shows(t, await post('/emails', emailWith([1]), headers), { status: 409 })
})

t.test('lists of anything but bytes, and other objects, are rejected', async t => {
  const name = 'validation_error'
  const message = 'The `content` of an attachment must be base64, or a list of its bytes: integers from 0 to 255.'
  for (const content of [[256], ['a'], [[1]], [1.5]]) {
    shows(t, await post('/emails', emailWith(content)), { status: 422, body: { name, message } })
  }
  for (const content of [{}, { type: 'Buffer' }, { type: 'x', data: [1] }, { data: 'eA==' }]) {
    const { status, body } = await post('/emails', emailWith(content))
    shows(t, { status, body }, { status: 422, body: { message: '`attachments[0].content` must be base64: a string.' } })
  }
})

t.test('the content id of an attachment can have its older name', async t => {
  const [files] = [emailWith('eA==', 'eA==', 'eA==').attachments]
  const names = [
    { inline_content_id: '<logo>' },
    { inlineContentId: 'foot' },
    { content_id: 'a', inline_content_id: 'b' },
  ]
  const attachments = files.map((file, n) => ({ ...file, ...names[n] }))
  const { body } = await post('/emails', { ...emailWith(), attachments })
  const { body: list } = await api.request('GET', `/api/emails/${body.id}/attachments`)
  shows(t, list.data, [
    { content_id: 'logo', content_disposition: 'inline' },
    { content_id: 'foot', content_disposition: 'inline' },
    { content_id: 'a' },
  ])
  const { body: refused } = await post('/emails', {
    ...emailWith(),
    attachments: [{ ...files[0], inline_content_id: 'a b' }],
  })
  t.match(refused.message, /^`attachments\[0\]\.content_id` must /)
})

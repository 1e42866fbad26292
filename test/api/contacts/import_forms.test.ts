import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { startApi } from '#test/support/api.ts'
import { Imports } from '#test/support/contacts/imports.ts'
import { cpuMs } from '#test/support/cpu_time.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const imports = new Imports(api, account.key, openWork(t, world).importer)

type Answered = { status: number; head: string; body: { id: string; message: string } }

const part = (headers: string[], content: string | Buffer) =>
  Buffer.concat([Buffer.from(`--x\r\n${headers.join('\r\n')}\r\n\r\n`), Buffer.from(content), Buffer.from('\r\n')])

/** Sends a form and reads the whole response. With `of_length`, announces that many bytes and so leaves out the end. */
async function post(parts: Buffer[], of_length = 0): Promise<Answered> {
  const form = Buffer.concat([...parts, Buffer.from(of_length > 0 ? '' : '--x--\r\n')])
  const head = [
    'POST /api/contacts/imports HTTP/1.1',
    ...['host: x', 'user-agent: test', `authorization: Bearer ${account.key}`, 'connection: close'],
    ...['content-type: multipart/form-data; boundary=x', `content-length: ${of_length || form.length}`],
  ]
  const socket = connect(Number(new URL(api.url).port), '127.0.0.1')
  await once(socket, 'connect')
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  socket.write(form)
  const answer = await text(socket)
  const end = answer.indexOf('\r\n\r\n')
  return {
    ...{ status: Number(answer.split(' ')[1]), head: answer.slice(0, end) },
    body: JSON.parse(answer.slice(answer.indexOf('{', end), answer.lastIndexOf('}') + 1)),
  }
}

const domain = part(['Content-Disposition: form-data; name="domain"'], account.domain)

t.test('a form part with a file name is a file without a Content-Type', async t => {
  const large = `email\n${Array.from({ length: 100_000 }, (_, n) => `large${n}@b.com\n`).join('')}`
  const dispositions = [
    'form-data; name="file"; filename="contacts.csv"',
    'form-data; name="contacts"; filename="contacts.csv"',
    'form-data; name="file"; filename=""',
    'form-data; name="file"; filename*=utf-8\'\'%C3%A4.csv',
    'form-data; name="file"',
  ]
  for (const [n, disposition] of dispositions.entries()) {
    const csv = `email\nann${n}@b.com\nbob${n}@b.com\n`
    const { status, body } = await post([domain, part([`Content-Disposition: ${disposition}`], csv)])
    t.equal(status, 201, disposition)
    shows(t, await imports.finish(body.id), { counts: { created: 2, failed: 0 } })
  }
  const { status } = await post([domain, part([`Content-Disposition: ${dispositions[0]}`], large)])
  t.equal(status, 201)
})

t.test('a form part with a Content-Type and without a file name is a field', async t => {
  const file = part(['Content-Disposition: form-data; name="file"; filename="a.csv"'], 'Mail\nfield@b.com\n')
  const fieldOf = (name: string, type: string, value: string) =>
    part([`Content-Disposition: form-data; name="${name}"`, `Content-Type: ${type}`], value)
  const map = fieldOf('column_map', 'application/json', '{"email":"Mail"}')
  const { status, body } = await post([fieldOf('domain', 'text/plain; charset=utf-8', account.domain), map, file])
  t.equal(status, 201)
  shows(t, await imports.finish(body.id), { counts: { created: 1 } })
})

t.test('a file without a line break in its first 64 KB is refused before all of it has arrived', async t => {
  const message = 'The first line of the file is too long for a header.'
  const disposition = 'Content-Disposition: form-data; name="file"; filename="a.csv"'
  const endless = [
    Buffer.alloc(100_000, 'email,'),
    Buffer.from(`email,"${'a\n'.repeat(50_000)}`),
    Buffer.from(`\ufeff${'email,'.repeat(20_000)}`, 'utf16le'),
  ]
  for (const content of endless) {
    for (const of_length of [50_000_000, 0]) {
      const { status, head, body } = await post([domain, part([disposition], content)], of_length)
      shows(t, { status, body }, { status: 422, body: { name: 'validation_error', message } })
      t.match(head.toLowerCase(), 'connection: close')
    }
  }
})

t.test('a file in which a boundary could begin everywhere is read in seconds, and unchanged', async t => {
  const file = (content: string) => part(['Content-Disposition: form-data; name="file"; filename="a.csv"'], content)
  const send = async (content: string) => {
    const { status, body } = await post([domain, file(content)])
    t.equal(status, 201)
    return body.id
  }
  await send('email\n')
  const ms = await cpuMs(() => send(`email\n${'\r'.repeat(2_000_000)}`))
  t.ok(ms < 8_000, `2 MB took ${ms} ms of CPU time; an object per piece would take 27,000`)

  const notes = ['\r\n--', '\r\n-', '\r', '\r\n--y\r\n', '\r\r\n--\r\n--y-']
  const rows = Array.from({ length: 5_000 }, (_, n) => `note${n}@b.com,"<${notes[n % notes.length]}>"`)
  const id = await send(`email,note\r\n${rows.join('\r\n')}\r\n`)
  shows(t, await imports.finish(id), { counts: { created: 5_000 } })
  const stored = await world.pool.pg.query(
    `SELECT DISTINCT properties ->> 'note' AS note FROM contacts WHERE account_id = $1 AND email LIKE 'note%'`,
    [account.id],
  )
  t.same(new Set(stored.rows.map(({ note }) => note)), new Set(notes.map(note => `<${note}>`)))
})

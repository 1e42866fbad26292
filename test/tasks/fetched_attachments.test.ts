import { randomBytes } from 'node:crypto'
import { simpleParser } from 'mailparser'
import t from 'tap'
import { findCapturedMessage } from '#sql/delivery/captured_messages.ts'
import { send_emails } from '#tasks/send_emails.ts'
import { makeDue } from '#test/support/database/states.ts'
import { ALLOWED, FORBIDDEN, startServer } from '#test/support/http/fetching.ts'
import { acceptEmail, deliverEmails, openWork, readEmail } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { startInbox } from '#test/support/smtp/inbox.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const MB = 1024 * 1024
const content = randomBytes(100_000)
let requests = 0
let is_away = false

const port = await startServer(t, (request, response) => {
  requests++
  const path = request.url ?? ''
  if (is_away) response.writeHead(503).end()
  else if (path === '/file') response.end(content)
  else if (path === '/never') return
  else if (path === '/random') response.end(randomBytes(1_000))
  else if (path === '/moved') response.writeHead(302, { location: '/file' }).end()
  else if (path === '/inside') response.writeHead(302, { location: `http://${FORBIDDEN}:${port}/file` }).end()
  else if (path === '/large') response.end(Buffer.alloc(26 * MB))
  else if (path.startsWith('/half')) response.end(randomBytes(21 * MB))
  else response.writeHead(404).end()
})
const world = await openWorld(t, { FETCH_ALLOW: ALLOWED, FETCH_PORTS: String(port) })
const account = await newAccount(world)
const work = openWork(t, world, 'capture')
const url = (path: string) => `http://${ALLOWED}:${port}${path}`

async function send(paths: string[]): Promise<string> {
  const attachments = paths.map((path, i) => ({ filename: `${i}.bin`, path: url(path) }))
  const id = await acceptEmail(world, account, { attachments })
  await deliverEmails(work, [id])
  return id
}

t.test('an attachment path is fetched when the email is sent, with redirects', async t => {
  const id = await send(['/file', '/moved'])
  const email = await readEmail(world, account, id)
  shows(t, email, { status: 'delivered', attachments: [{ filename: '0.bin', size: 100_000 }, { size: 100_000 }] })
  const captured = await findCapturedMessage(world.pool, id)
  const { attachments } = await simpleParser(captured?.message as Buffer)
  t.strictSame(
    attachments.map(file => file.content.equals(content)),
    [true, true],
  )
})

const failures: [path: string, reason: RegExp][] = [
  ['/nothing', /0.bin could not be fetched: The URL responded with 404/],
  ['/inside', /0.bin could not be fetched: The URL could not be fetched/],
  ['/large', /0.bin could not be fetched: The URL responded with too much/],
]

for (const [path, reason] of failures) {
  t.test(`an email with an attachment at ${path} fails with a reason`, async t => {
    const email = await readEmail(world, account, await send([path]))
    t.equal(email.status, 'failed')
    shows(t, email.events, [{ type: 'failed', reason }])
  })
}

t.test('fetched files of more than 40 MB in total fail the email', async t => {
  shows(t, await readEmail(world, account, await send(['/half', '/half?2'])), { status: 'failed' })
})

t.test('an attachment path that is unavailable is retried', async t => {
  is_away = true
  const id = await send(['/file'])
  shows(t, await readEmail(world, account, id), { status: 'delivery_delayed', queue: [{ attempts: 1 }] })
  is_away = false
  await makeDue(world, id)
  await deliverEmails(work, [id])
  shows(t, await readEmail(world, account, id), { status: 'delivered' })
})

t.test('all attempts send the file that was fetched first', async t => {
  const inbox = await startInbox(t)
  const relay = openWork(t, world, inbox.url)
  const attachments = [{ filename: 'x.bin', path: url('/random') }]
  inbox.refuse(451, 'Later', 'data')
  const id = await acceptEmail(world, account, { to: ['a@y.com', 'b@z.com'], attachments })
  const before = requests
  await deliverEmails(relay, [id])
  inbox.accept()
  await makeDue(world, id)
  await deliverEmails(relay, [id])

  t.equal(requests - before, 1)
  t.equal(inbox.messages.length, 2)
  const [first, second] = inbox.messages.map(({ raw }) => raw)
  t.ok(first?.equals(second as Buffer))
})

t.test('attachment servers that never respond delay no other emails', async t => {
  const patient = openWork(t, world, 'capture')
  const attachments = [{ filename: 'x.bin', path: url('/never') }]
  const slow = Array.from({ length: 80 }, (_, i) =>
    acceptEmail(world, account, { to: [`a${i}@d${i % 4}.com`], attachments }),
  )
  await send_emails({ email_ids: await Promise.all(slow) }, patient)
  const other = await newAccount(world)
  const file = [{ filename: 'x.bin', path: url('/file') }]
  const ids = [await acceptEmail(world, other), await acceptEmail(world, other, { attachments: file })]
  await send_emails({ email_ids: ids }, patient)
  for (const id of ids) {
    await waitUntil(
      async () => (await readEmail(world, other, id)).status === 'delivered',
      'the other mail is delivered',
    )
  }
  await patient.sender.stop()
  const { rows } = await world.pool.pg.query(
    `SELECT DISTINCT state, attempt FROM deliveries WHERE email_id = ANY ($1)`,
    [await Promise.all(slow)],
  )
  t.strictSame(rows, [{ state: 'queued', attempt: 0 }], 'a stop does not count as an attempt')
})

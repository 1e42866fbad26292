import { simpleParser } from 'mailparser'
import t, { type Test } from 'tap'
import { ComposeError } from '#flows/delivery/errors.ts'
import { createFetchFiles } from '#flows/delivery/prepare/fetch_attachments.ts'
import { createPrepareMessage, LARGE, type Prepared } from '#flows/delivery/prepare/prepare_message.ts'
import { createBlobs, type ReadBlob } from '#flows/files/blobs.ts'
import { findCapturedMessage } from '#sql/delivery/captured_messages.ts'
import { LONG_CONTENT } from '#sql/delivery/prepare/emails_to_send.ts'
import { send_emails } from '#tasks/send_emails.ts'
import { ANYBODY } from '#test/support/delivering.ts'
import { acceptEmail, deliverEmails, openWork, readEmail, TEST_TIMES } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { openSink } from '#test/support/smtp/open_sink.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const pdf = Buffer.alloc(3 << 20, 'a pdf, more or less ')
const blobs = createBlobs(world)
const attachments = [
  { filename: 'Résumé.pdf', content: pdf.toString('base64') },
  { filename: 'l.png', content_id: 'logo', content: Buffer.from('a logo').toString('base64') },
]
const html = '<img src="cid:logo">'
const large = 'x'.repeat(LARGE / 2)

t.test('attachments are read when the message is composed, and arrive unchanged', async t => {
  let reads = 0
  const prepared = await prepare(await acceptEmail(world, account, { html, attachments }), (...ids) => {
    reads++
    return blobs.read(...ids)
  })
  t.equal(reads, 0)
  t.ok(prepared.size > pdf.length * 1.35 && prepared.size < pdf.length * 1.4)
  const message = await prepared.compose(ANYBODY)
  t.equal(reads, 2)
  t.match(message.toString('latin1', 0, 20), 'DKIM-Signature')
  const { attachments: found } = await simpleParser(message, { skipImageLinks: true })
  t.strictSame(
    found.map(({ filename, contentType, content }) => [filename, contentType, content.length]),
    [
      ['l.png', 'image/png', 6],
      ['Résumé.pdf', 'application/pdf', pdf.length],
    ],
  )
  t.ok(found[1]?.content.equals(pdf))
})

t.test('a failing store is retried; a damaged file fails the email', async t => {
  const id = await acceptEmail(world, account, { html, attachments })
  const away: ReadBlob = async function* () {
    yield Buffer.from('a')
    throw new Error('away')
  }
  const failure = await (await prepare(id, away)).compose(ANYBODY).catch(error => error)
  t.match(failure, { message: 'An attachment could not be read: away' })
  t.notOk(failure instanceof ComposeError)
  await world.pool.pg.query('DELETE FROM blob_chunks')
  t.ok((await (await prepare(id)).compose(ANYBODY).catch(error => error)) instanceof ComposeError)
})

t.test('a long text is sized when prepared and loaded when composed', async t => {
  for (const length of [LONG_CONTENT - 1, LONG_CONTENT, LONG_CONTENT + 1, 3 * LONG_CONTENT]) {
    const text = 'x'.repeat(length - 1)
    const id = await acceptEmail(world, account, { text, html: 'y' })
    const prepared = await prepare(id)
    t.ok(prepared.size > 2.3 * length && prepared.size < 2.4 * length)
    t.match(await simpleParser(await prepared.compose(ANYBODY)), { text, html: 'y' })
  }
})

t.test('large mail that waits for room does not delay small mail', async t => {
  const { sink, work } = await open(t, { ...TEST_TIMES, lease_seconds: 60, drain_ms: 300 })
  const holding = await acceptEmail(world, account, { to: 'hang-post-dot@y.com', text: large })
  await send_emails({ email_ids: [holding] }, work)
  await sink.arrived(1)
  const to = (local: string) => Array.from({ length: 40 }, (_, i) => `${local}-${i}@y.com`)
  const waiting = await acceptEmail(world, account, { to: to('large'), text: large })
  await send_emails({ email_ids: [waiting] }, work)
  const small = await acceptEmail(world, account, { to: to('small') })
  await send_emails({ email_ids: [small] }, work)
  await sink.arrived(41)
  t.notOk(sink.ledger.some(({ rcpt }) => rcpt.startsWith('large')))

  await work.sender.stop()
  t.equal(sink.messages, 41)
  shows(t, await readEmail(world, account, small), { status: 'delivered' })
  const { queue, status } = await readEmail(world, account, waiting)
  t.equal(status, 'queued')
  shows(t, queue, Array(40).fill({ state: 'queued', attempts: 0, reason: 'The worker stopped.' }))
})

t.test('large mail is sent as room becomes free', async t => {
  const { sink, work } = await open(t)
  const addresses = ['1@y.com', ['2@y.com', '3@z.com'], '4@y.com', '5@z.com', '6@z.com']
  const ids = await Promise.all(addresses.map(to => acceptEmail(world, account, { to, text: large })))
  await deliverEmails(work, ids)
  t.equal(sink.messages, 6)
  for (const id of ids) shows(t, await readEmail(world, account, id), { status: 'delivered' })
})

t.test('captured messages of any size are stored byte for byte', async t => {
  const work = openWork(t, world, 'capture')
  const texts = ['one', 'x'.repeat(1 << 20), '\\x00 \\ "', 'four', '']
  const ids = await Promise.all(texts.map(text => acceptEmail(world, account, { text })))
  await deliverEmails(work, ids)
  for (const [i, id] of ids.entries()) {
    const captured = await findCapturedMessage(world.pool, id)
    const composed = await (await prepare(id)).compose(ANYBODY)
    t.ok(captured?.message.equals(composed), `${texts[i]?.length} characters`)
  }
})

/** Opens a sender with room for one large message. */
async function open(t: Test, times = TEST_TIMES) {
  const sink = await openSink(t)
  const timeouts = { connect: 60_000, message: 60_000, dot: 60_000 }
  return { sink, work: openWork(t, world, sink.url, { timeouts, times, room: LARGE }) }
}

/** Prepares an email, by default with its stored files. */
function prepare(id: string, readBlob: ReadBlob = blobs.read): Promise<Prepared> {
  const signal = new AbortController().signal
  const fetchFiles = createFetchFiles({ ...world, blobs, signal })
  return createPrepareMessage({ ...world, fetchFiles, readBlob, keys_ms: 60_000 })({ account_id: account.id, id })
}

import { buffer } from 'node:stream/consumers'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { type AddressObject, simpleParser } from 'mailparser'
import PostalMime, { decodeWords } from 'postal-mime'
import t from 'tap'
import { dkimRecordValue } from '#lib/mail/dkim.ts'
import { parseReturnPathLocal } from '#lib/mail/return_path.ts'
import { makeDue } from '#test/support/database/states.ts'
import { acceptEmail, deliverEmails, openWork, readEmail } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { startInbox } from '#test/support/smtp/inbox.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)

const lines = [
  '.',
  '..',
  '.a line that starts with a dot',
  'x'.repeat(2_500),
  `ü${'€'.repeat(1_200)}`,
  ' a \t b ',
  '',
  '-- ',
]
const fields = {
  from: `"Ünï, \\"Corp\\" 🚀" <hello@${account.domain}>`,
  to: ['日本 太郎 <ann@y.com>', 'Bob@Y.com'],
  cc: ['Иван Иванов <ivan@bücher.de>'],
  bcc: ['Hidden <hidden@z.com>'],
  reply_to: ['Répondez <reply@y.com>'],
  subject:
    '🎉 Grüße, 日本語 — and a very long tail that has to be folded, because it is longer than any line may be 🎉',
  text: lines.join('\n'),
  html: `<p>😀</p>\n${lines.map(line => `<b>${line}</b>`).join('\n')}`,
  headers: { 'X-Campaign': 'été 2026', 'List-Unsubscribe': '<https://y.com/u?a=1>' },
}

t.test('each recipient gets the same message in its own transaction', async t => {
  const inbox = await startInbox(t)
  const work = openWork(t, world, inbox.url)
  const id = await acceptEmail(world, account, fields)
  await deliverEmails(work, [id])

  const rcpts = ['ann@y.com', 'Bob@y.com', 'ivan@bücher.de', 'hidden@z.com'] // the inbox reads punycode
  t.same(inbox.messages.map(message => message.rcpt_to).sort(), rcpts.map(rcpt => [rcpt]).sort())
  const [{ raw } = { raw: Buffer.alloc(0) }] = inbox.messages
  for (const message of inbox.messages) t.ok(message.raw.equals(raw), 'the same bytes for all')

  const first = await PostalMime.parse(raw)
  shows(t, first, {
    subject: fields.subject,
    from: { name: 'Ünï, "Corp" 🚀', address: `hello@${account.domain}` },
    to: [{ name: '日本 太郎', address: 'ann@y.com' }, { address: 'Bob@y.com' }],
    cc: [{ name: 'Иван Иванов', address: 'ivan@xn--bcher-kva.de' }],
    replyTo: [{ name: 'Répondez', address: 'reply@y.com' }],
  })
  t.equal(first.to?.length, 2)
  t.equal(first.bcc, undefined)
  t.equal(withoutEnd(first.text), fields.text)
  t.equal(withoutEnd(first.html), fields.html)

  const second = await simpleParser(raw, { skipTextToHtml: true, skipHtmlToText: true, skipTextLinks: true })
  t.equal(second.subject, fields.subject)
  t.equal((second.from as AddressObject).value[0]?.name, 'Ünï, "Corp" 🚀')
  t.equal(withoutEnd(second.text), fields.text)
  t.equal(withoutEnd(second.html || ''), fields.html)
  t.equal(decodeWords(first.headers.find(({ key }) => key === 'x-campaign')?.value ?? ''), 'été 2026')
  t.equal(second.messageId, (await readEmail(world, account, id)).message_id)
  t.notMatch(raw.toString('latin1'), /hidden@|^bcc/im, 'nobody sees who is hidden')
  t.notMatch(raw.toString('latin1'), /[^\r]\n|\r[^\n]|[^\r\n]{999}/, 'lines end as they must and are not too long')
  shows(t, await readEmail(world, account, id), { status: 'delivered', queue: undefined, last_event: 'delivered' })
})

t.test('the return path contains the id of the delivery', async t => {
  const inbox = await startInbox(t)
  const work = openWork(t, world, inbox.url)
  const id = await acceptEmail(world, account, { to: ['ann@y.com', 'bob@y.com'] })
  await deliverEmails(work, [id])

  const { rows } = await world.pool.pg.query('SELECT id, recipient FROM deliveries WHERE email_id = $1', [id])
  t.equal(inbox.messages.length, 2)
  for (const { mail_from, rcpt_to } of inbox.messages) {
    const [local = '', domain] = mail_from.split('@')
    t.equal(domain, account.domain)
    t.equal(parseReturnPathLocal(local, world.secrets), rows.find(row => row.recipient === rcpt_to[0]).id)
  }
})

t.test('the return path uses the domain once verified, otherwise RETURN_PATH_DOMAIN', async t => {
  const inbox = await startInbox(t)
  const sender = await newAccount(world)
  const config = { ...world.config, RETURN_PATH_DOMAIN: 'bounces.mail.com' }
  const work = openWork(t, { ...world, config }, inbox.url)
  await deliverEmails(work, [await acceptEmail(world, sender)])
  await world.pool.pg.query(
    `UPDATE domains SET custom_return_path = 'out', return_path_verified = true WHERE account_id = $1`,
    [sender.id],
  )
  await deliverEmails(work, [await acceptEmail(world, sender)])
  t.strictSame(
    inbox.messages.map(({ mail_from }) => mail_from.split('@')[1]),
    ['bounces.mail.com', `out.${sender.domain}`],
  )
})

t.test('an accepted email fails if its domain may no longer send', async t => {
  const inbox = await startInbox(t)
  const sender = await newAccount(world)
  const id = await acceptEmail(world, sender)
  await world.pool.pg.query('UPDATE domains SET sending = false, receiving = true WHERE account_id = $1', [sender.id])
  await deliverEmails(openWork(t, world, inbox.url), [id])
  shows(t, await readEmail(world, sender, id), {
    status: 'failed',
    events: [{ reason: 'The domain may no longer send.' }],
  })
})

t.test('the DKIM signature verifies with the published key', async t => {
  const inbox = await startInbox(t)
  const work = openWork(t, world, inbox.url)
  const { selector, public_key } = account.dkim
  const record = dkimRecordValue('rsa-sha256', public_key)
  const resolver = async (name: string) => (name === `${selector}._domainkey.${account.domain}` ? [[record]] : [])
  const verdict = async (raw: Buffer) => (await dkimVerify(raw, { resolver, strict: true })).results[0]

  for (const id of await Promise.all(
    [fields, {}, { html: '<p>.</p>' }].map(each => acceptEmail(world, account, each)),
  )) {
    await deliverEmails(work, [id])
  }
  for (const { raw } of inbox.messages) {
    t.match(await verdict(raw), { status: { result: 'pass' }, signingDomain: account.domain, algo: 'rsa-sha256' })
    t.match(await verdict(Buffer.concat([raw, Buffer.from('more\r\n')])), { status: { result: 'fail' } })
  }
})

t.test('a retry sends the same bytes, from another process and for large messages', async t => {
  const raws: Buffer[] = []
  const inbox = await startInbox(t, {
    onData: async (stream, _session, callback) => {
      raws.push(await buffer(stream))
      callback(raws.length === 1 ? Object.assign(new Error('4.3.0 Try again'), { responseCode: 451 }) : null)
    },
  })
  for (const more of [{}, { html: '<i>é</i>\n'.repeat(60_000) }]) {
    raws.length = 0
    const id = await acceptEmail(world, account, { ...fields, to: 'ann@y.com', cc: [], bcc: [], ...more })
    await deliverEmails(openWork(t, world, inbox.url), [id])
    shows(t, await readEmail(world, account, id), { queue: [{ state: 'queued', last_reply: '451 4.3.0 Try again' }] })

    await makeDue(world, id)
    await deliverEmails(openWork(t, world, inbox.url), [id])
    const { status, message_id } = await readEmail(world, account, id)
    t.equal(status, 'delivered')
    t.equal(raws.length, 2)
    t.ok(raws[0]?.equals(raws[1] as Buffer), `${raws[0]?.length} bytes`)
    t.ok(raws[0]?.includes(`\r\nMessage-ID: ${message_id}\r\n`))
  }
})

/** Without the line break that ends a body, which some parsers include. */
function withoutEnd(text: string | undefined): string {
  return (text ?? '').replaceAll('\r\n', '\n').replace(/\n$/, '')
}

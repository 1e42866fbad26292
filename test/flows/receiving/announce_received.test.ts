import t from 'tap'
import { returnPathLocal } from '#lib/mail/return_path.ts'
import { parse_email } from '#tasks/parse_email.ts'
import { startApi } from '#test/support/api.ts'
import { MIME_BOMBS } from '#test/support/mail/mime_bombs.ts'
import { compose, receive, storeMessages } from '#test/support/receiving.ts'
import { acceptEmail, deliverEmails, openWork, readEmail } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newListener, subscribe, takeEvents, takeEventTypes } from '#test/support/webhooks/webhook_events.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const { pg } = world.pool
const work = openWork(t, world, 'capture')
const api = await startApi(t, world, '')
const account = await newListener(world)

// biome-ignore lint/suspicious/noExplicitAny: the record of a received email
async function show(id: string): Promise<any> {
  return (await api.request('GET', `/api/emails/receiving/${id}`, { key: account.key })).body
}

const NOTICE = [
  'From: MAILER-DAEMON@mx.example',
  'Subject: Undelivered',
  'MIME-Version: 1.0',
  'Content-Type: multipart/report; report-type=delivery-status; boundary=b',
  '',
  '--b',
  'Content-Type: message/delivery-status',
  '',
  'Reporting-MTA: dns; mx.example',
  '',
  'Final-Recipient: rfc822; x@y.com',
  'Action: failed',
  'Status: 5.1.1',
  'Diagnostic-Code: smtp; 550 5.1.1 No such user',
  '',
  '--b--',
].join('\r\n')

type Shown = { id: string; content_id: string | null }

t.test('email.received has the email as GET shows it, with files, without text', async t => {
  const raw = await compose({
    from: 'Ann <ann@y.com>',
    to: ['Me <me@acme.com>', 'you@acme.com'],
    cc: 'all@acme.com',
    subject: 'Grüße',
    html: '<p>secret',
    text: 'secret',
    attachments: [
      { filename: 'a.pdf', content: 'x', contentType: 'application/pdf' },
      { filename: 'b.png', content: 'y', contentType: 'image/png', cid: 'pic@y.com', contentDisposition: 'inline' },
    ],
  })
  const id = await receive(work, account, raw, { received_for: [`me@${account.domain}`, `all@${account.domain}`] })
  const { created_at, domain_id, from, to, cc, received_for, message_id, subject, attachments } = await show(id)
  t.equal(domain_id, account.domain_id)
  t.match(message_id, /@/)
  t.strictSame(
    { from, to, cc, subject },
    {
      from: 'ann@y.com',
      to: ['me@acme.com', 'you@acme.com'],
      cc: ['all@acme.com'],
      subject: 'Grüße',
    },
  )
  const [png, pdf] = attachments
  const shownOf = ({ id, content_id }: Shown) => ({ id, content_id })
  const events = await takeEvents(world, account.id)
  t.strictSame(events, [
    {
      type: 'email.received',
      data: {
        ...{ email_id: id, created_at, domain_id, from, to, cc, bcc: [], received_for, message_id, subject },
        attachments: [
          { ...shownOf(png), filename: 'b.png', content_type: 'image/png', content_disposition: 'inline' },
          { ...shownOf(pdf), filename: 'a.pdf', content_type: 'application/pdf', content_disposition: 'attachment' },
        ],
      },
    },
  ])
  shows(t, [png, pdf], [{ content_id: /pic@y.com/ }, { content_id: null }])
  t.notOk(JSON.stringify(events).includes('secret'))

  await parse_email({ ids: [{ account_id: account.id, id }] }, work)
  t.strictSame(await takeEvents(world, account.id), [], 'an email parsed twice is announced once')
})

t.test('email.received of an unreadable email has the known fields', async t => {
  const bomb = (MIME_BOMBS['many headers'] as (scale: number) => Buffer)(10)
  const id = await receive(work, account, bomb)
  const { created_at, domain_id, received_for, parse_error } = await show(id)
  t.ok(parse_error)
  const unknown = { from: '', to: [], cc: [], bcc: [], message_id: null, subject: '', attachments: [] }
  const data = { email_id: id, created_at, domain_id, received_for, ...unknown }
  t.strictSame(await takeEvents(world, account.id), [{ type: 'email.received', data }])

  const [deadly] = await storeMessages(world, account, [Buffer.from('Subject: x\r\n\r\nx')])
  if (!deadly) throw new Error('nothing was stored')
  await pg.query('UPDATE received_emails SET parse_tries = 3 WHERE id = $1', [deadly.id])
  await parse_email({ ids: [deadly] }, work)
  await parse_email({ ids: [deadly] }, work)
  t.match(await show(deadly.id), { parse_error: 'Each process that read it crashed.' })
  shows(t, await takeEvents(world, account.id), [{ type: 'email.received', data: { email_id: deadly.id } }])
})

t.test('a reply is announced as email.replied, after email.received', async t => {
  const sent = await acceptEmail(world, account)
  const { message_id } = await readEmail(world, account, sent)
  const raw = await compose({ inReplyTo: message_id, text: 'Yes, I am interested.' })
  const id = await receive(work, account, raw)
  t.match(await show(id), { reply_to_email_id: sent, category: 'interested' })
  const [received, replied, ...others] = await takeEvents(world, account.id)
  t.strictSame(others, [])
  t.match(received, { type: 'email.received', data: { email_id: id } })
  const more = { reply_to_email_id: sent, campaign_id: null, contact_id: null, category: 'interested' }
  t.strictSame(replied, { type: 'email.replied', data: { ...received?.data, ...more } })

  const forgotten = await receive(work, account, await compose({ inReplyTo: message_id.replace('@', '@x.') }))
  t.match(await show(forgotten), { reply_to_email_id: null })
  t.strictSame(await takeEventTypes(world, account.id), ['email.received'])
})

t.test('bounce reports and mail to return paths are not announced as received', async t => {
  const email_id = await acceptEmail(world, account)
  await deliverEmails(work, [email_id])
  t.strictSame(await takeEventTypes(world, account.id), ['email.sent', 'email.delivered'])
  const { rows } = await pg.query('SELECT id FROM deliveries WHERE email_id = $1', [email_id])
  const path = `${returnPathLocal(rows[0].id, world.secrets)}@${account.domain}`
  const id = await receive(work, account, NOTICE, { mail_from: '', received_for: [path] })
  t.strictSame((await pg.query('SELECT kind FROM received_emails WHERE id = $1', [id])).rows, [{ kind: 'report' }])
  const events = await takeEvents(world, account.id)
  t.strictSame(events.map(({ type }) => type).sort(), ['email.bounced', 'suppression.added'])
  t.match(events.find(({ type }) => type === 'email.bounced')?.data, { email_id, bounce: { subType: 'NoEmail' } })

  const away = await compose({ subject: 'Out of office', text: 'x', headers: { 'Auto-Submitted': 'auto-replied' } })
  await receive(work, account, away, { received_for: [path] })
  await receive(work, account, MIME_BOMBS['many headers']?.(10) as Buffer, { received_for: [path] })
  t.strictSame(await takeEvents(world, account.id), [], 'other mail to return paths is not announced either')
  await receive(work, account, away)
  t.strictSame(await takeEventTypes(world, account.id), ['email.received'])
})

t.test('an email whose transaction fails is not announced', async t => {
  const [id] = await storeMessages(world, account, [await compose({ text: 'x' })])
  if (!id) throw new Error('nothing was stored')
  await pg.query(`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no commit'; END $$;
    CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON received_contents DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION refuse()
  `)
  await t.rejects(parse_email({ ids: [id] }, work), /no commit/)
  t.strictSame(await takeEvents(world, account.id), [])
  await pg.query('DROP FUNCTION refuse() CASCADE')
  await parse_email({ ids: [id] }, work)
  t.strictSame(await takeEventTypes(world, account.id), ['email.received'])
})

t.test('no event is stored without a subscription to email.received', async t => {
  for (const events of [null, ['email.sent'], ['email.replied']]) {
    const deaf = await newAccount(world)
    if (events) await subscribe(world, deaf.id, events)
    await receive(work, deaf, await compose({ text: 'x' }))
    t.strictSame(await takeEvents(world, deaf.id), [])
  }
})

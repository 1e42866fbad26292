import MailComposer from 'nodemailer/lib/mail-composer'
import PostalMime from 'postal-mime'
import t from 'tap'
import { send_emails } from '#tasks/send_emails.ts'
import { startApi } from '#test/support/api.ts'
import { openWork } from '#test/support/sending.ts'
import { startInbox } from '#test/support/smtp/inbox.ts'
import { acceptedId, listenForSubmission, logIn, submissionSettings } from '#test/support/smtp/submission.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t, await submissionSettings(t))
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const port = await listenForSubmission(t, world)
const inbox = await startInbox(t)
const work = openWork(t, world, inbox.url)
const from = `ann@${account.domain}`
const CALENDAR = 'BEGIN:VCALENDAR\r\nVERSION:2.0\r\nMETHOD:REQUEST\r\nSUMMARY:Fika på jobbet\r\nEND:VCALENDAR\r\n'

/** The sent message with the types of its parts, each after its parent. */
async function sent(id: string) {
  const before = inbox.messages.length
  await send_emails({ email_ids: [id] }, work)
  const raw = (await inbox.waitFor(before + 1)).at(-1)?.raw.toString() ?? ''
  const unfolded = raw.replaceAll('\r\n ', ' ')
  const types = Array.from(unfolded.matchAll(/^Content-Type: ([^;\r]+)/gm), ([, type]) => type)
  const line = /^Content-Type: text\/calendar.*$/m.exec(unfolded)?.[0]
  return { types, line, parsed: await PostalMime.parse(raw) }
}

/** The text with LF line ends, as the parser returns calendars. */
function textOf(content: unknown): string {
  return Buffer.from(content as ArrayBuffer)
    .toString()
    .replace(/\r?\n/g, '\r\n')
}

async function post(body: object): Promise<string> {
  const draft = { from, to: ['b@y.com'], subject: 'Fika', ...body }
  return (await api.request('POST', '/api/emails', { body: draft })).body.id as string
}

const attachment = (fields: object = {}) => ({
  filename: 'invite.ics',
  content: Buffer.from(CALENDAR).toString('base64'),
  content_type: 'text/calendar; method=REQUEST',
  ...fields,
})

t.test('a calendar with a method is an alternative of the body', async t => {
  const pdf = { filename: 'a.pdf', content: 'eA==' }
  const { types, line, parsed } = await sent(
    await post({ text: 'Come', html: '<p>Come</p>', attachments: [pdf, attachment()] }),
  )
  t.same(types, [
    ...['multipart/mixed', 'multipart/alternative', 'text/plain', 'text/html', 'text/calendar', 'application/pdf'],
  ])
  t.equal(line, 'Content-Type: text/calendar; method=REQUEST; charset=utf-8; name="invite.ics"')
  t.same([parsed.text?.trim(), parsed.html?.trim()], ['Come', '<p>Come</p>'])
  const [calendar] = parsed.attachments.filter(({ mimeType }) => mimeType === 'text/calendar')
  t.same([calendar?.method, calendar?.disposition], ['REQUEST', null])
  t.equal(textOf(calendar?.content), CALENDAR)
})

t.test('a calendar is an alternative of the body, with or without other parts', async t => {
  const image = { filename: 'a.png', content: 'eA==', content_id: 'a' }
  const html = '<img src="cid:a">'
  const calendar = attachment({ content_type: 'text/calendar; charset="utf-8"; Method=CANCEL' })
  const bare = await sent(await post({ attachments: [calendar] }))
  t.same(bare.types, ['multipart/alternative', 'text/plain', 'text/calendar'])
  t.match(bare.line, /charset="utf-8".*Method=CANCEL/)
  t.notMatch(bare.line, /charset.*charset/)
  t.same((await sent(await post({ html, attachments: [image, calendar] }))).types, [
    ...['multipart/related', 'multipart/alternative', 'text/html', 'text/calendar', 'image/png'],
  ])
  const both = await sent(await post({ text: 'x', attachments: [calendar, attachment()] }))
  t.same(both.types, ['multipart/mixed', 'multipart/alternative', 'text/plain', 'text/calendar', 'text/calendar'])
})

t.test('a calendar without a method is an attachment', async t => {
  for (const content_type of ['text/calendar', 'application/ics', undefined]) {
    const { types } = await sent(await post({ text: 'x', attachments: [attachment({ content_type })] }))
    t.same(types, ['multipart/mixed', 'text/plain', content_type ?? 'text/calendar'])
  }
})

t.test('a submitted invitation keeps its structure', async t => {
  const composer = new MailComposer({
    ...{ from, to: 'b@y.com', subject: 'Fika', text: 'Come', html: '<p>Come</p>' },
    alternatives: [{ contentType: 'text/calendar; charset="UTF-8"; method=REQUEST', content: CALENDAR }],
    attachments: [{ filename: 'invite.ics', contentType: 'application/ics', content: CALENDAR }],
  })
  const client = await logIn(t, account.key, port)
  const id = acceptedId(await client.send('b@y.com', await composer.compile().build()))
  const { types, line, parsed } = await sent(id)
  t.same(types, [
    ...['multipart/mixed', 'multipart/alternative', 'text/plain', 'text/html', 'text/calendar', 'application/ics'],
  ])
  t.equal(line, 'Content-Type: text/calendar; method=REQUEST; charset=UTF-8; name="invite.ics"')
  for (const { content } of parsed.attachments) t.equal(textOf(content), CALENDAR)
  const { body } = await api.request('GET', `/api/emails/${id}/attachments`)
  t.match(body.data[0], { filename: 'invite.ics', content_type: /^text\/calendar; method=REQUEST; charset=UTF-8$/ })
})

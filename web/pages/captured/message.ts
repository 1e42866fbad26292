import { Readable } from 'node:stream'
import { sendFile } from '#api/bodies/download.ts'
import { uuid } from '#api/operations/ids.ts'
import { orNotFound } from '#lib/errors.ts'
import { safeContentType, safeFilename } from '#lib/mail/attachment_limits.ts'
import { parseMessage } from '#lib/receiving/parse/parse_message.ts'
import type { ParsedAddress, ParsedMessage } from '#lib/receiving/parse/parsed_message.ts'
import { findOwnCapturedMessage, type OwnCapturedMessage } from '#sql/delivery/captured_messages.ts'
import { type Html, html } from '#web/html.ts'
import { facts, linkButton, time, unicodeDomain } from '#web/layout/parts.ts'
import { idOf } from '#web/layout/record_page.ts'
import { mailContent, sizeOf } from '#web/pages/mail/content.ts'
import { respondMail } from '#web/pages/mail/preview.ts'
import { file, page, type Visit } from '#web/request/visit.ts'

/** A captured message as its recipient would see it. The id is that of the message or of its email. */
export const capturedMessage = page('/captured/:id', async visit => {
  const found = await find(visit)
  const message = await read(found)
  const path = `/captured/${found.id}`
  return {
    title: message.subject || '(no subject)',
    actions: linkButton(`/emails/${found.email_id}`, 'View email'),
    body: html`${details(found, message)}
${mailContent(visit, {
  ...{ path, html: message.html, text: message.text, headers: message.headers, raw: `${path}/raw` },
  files: message.files.map(({ filename, content }, n) => ({
    ...{ name: filename ?? `File ${n + 1}`, path: `${path}/files/${n}`, size: content.length },
  })),
})}`,
  }
})

export const capturedFiles = [
  file('/captured/:id/preview', async visit => {
    const { html: markup, files } = await read(await find(visit))
    const inlines = files.map(one => ({ ...one, size: one.content.length, read: async () => Buffer.from(one.content) }))
    await respondMail(visit, orNotFound('Message', markup), inlines)
  }),

  file('/captured/:id/raw', async visit => {
    const { id, message } = await find(visit)
    send(visit, { filename: `${id}.eml`, content_type: 'message/rfc822' }, message)
  }),

  file('/captured/:id/files/:number', async visit => {
    const { files } = await read(await find(visit))
    const { filename, content_type, content } = orNotFound('File', files[Number(visit.params.number)])
    const safe = { filename: safeFilename(filename ?? 'file'), content_type: safeContentType(content_type) }
    send(visit, safe, Buffer.from(content))
  }),
]

async function find(visit: Visit): Promise<OwnCapturedMessage> {
  const id = uuid(idOf(visit).id)
  const found = id && (await findOwnCapturedMessage(visit.ctx.pool, visit.session.account_id, id))
  return orNotFound('Message', found || null)
}

/** Mailbrook has written the message, so an error here is a bug. */
async function read({ message }: OwnCapturedMessage): Promise<ParsedMessage> {
  const parsed = await parseMessage(new Uint8Array(message))
  if ('refused' in parsed) throw new Error(`A captured message cannot be read: ${parsed.refused}`)
  return parsed.message
}

function send({ ctx }: Visit, named: { filename: string; content_type: string }, content: Buffer): void {
  sendFile(ctx, { ...named, size: content.length }, Readable.from([content]))
}

function details({ mail_from, recipient, created_at, message }: OwnCapturedMessage, parsed: ParsedMessage): Html {
  const format = (list: ParsedAddress[]) =>
    list.map(({ name, address }) => unicodeDomain(name ? `${name} <${address}>` : address)).join(', ')
  return facts([
    ['From', format(parsed.authors)],
    ['To', format(parsed.to)],
    ['Cc', format(parsed.cc)],
    ['Reply-To', format(parsed.reply_to)],
    ['Recipient', unicodeDomain(recipient)],
    ['Envelope sender', unicodeDomain(mail_from)],
    ['Captured', time(created_at.toISOString())],
    ['Size', sizeOf(message.length)],
  ])
}

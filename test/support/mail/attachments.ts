import type { Message, MessageAttachment } from '#lib/mail/message.ts'

export const plainMail: Message = {
  message_id: '0190b2c4@mail.example.com',
  date: new Date('2026-11-01T09:05:07.890Z'),
  from: { name: 'Acme', address: 'news@example.com' },
  to: [{ name: null, address: 'ann@example.org' }],
  cc: [],
  reply_to: [],
  subject: 'Hello',
  headers: {},
  text: 'Hi',
  html: null,
  attachments: [],
  seed: '0190b2c4',
}

/** A file with this content, which is read in pieces of `piece` bytes. */
export function file(
  content: Buffer | string,
  { piece = 1000, ...head }: Partial<MessageAttachment> & { piece?: number } = {},
): MessageAttachment {
  const bytes = Buffer.from(content)
  return {
    filename: 'a.bin',
    content_type: null,
    content_disposition: 'attachment',
    content_id: null,
    size: bytes.length,
    async *read() {
      for (let start = 0; start < bytes.length; start += piece) yield bytes.subarray(start, start + piece)
    },
    ...head,
  }
}

export function image(content_id: string, content: Buffer | string = 'image'): MessageAttachment {
  return file(content, { filename: `${content_id}.png`, content_disposition: 'inline', content_id })
}

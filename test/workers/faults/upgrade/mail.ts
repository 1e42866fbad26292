import PostalMime, { type Email } from 'postal-mime'
import type { Test } from 'tap'
import type { Sink } from '#test/faults/support/sink.ts'
import { destination, type Sender } from '#test/faults/support/stage.ts'
import type { Api } from '#test/support/api.ts'
import { openSink } from '#test/support/smtp/open_sink.ts'

/** A file stored in several chunks of a blob; smaller ones are stored in its row. */
const FILE = Buffer.alloc(100_000, 'a file ')

const TEMPLATE = {
  ...{ name: 'upgrade', alias: 'upgrade', subject: 'Number {{name}}' },
  ...{ html: '<p>Hello {{name}}</p>', text: 'Hello {{name}}' },
}

/** The address at the sink with this local part. */
export const at = (local_part: string) => `${local_part}@${destination(0)}`

/** An email that contains its name everywhere, so that `checkContents` knows what must arrive. */
export function plain({ account }: Sender, name: string, to: string | string[]) {
  const from = `hello@${account.domain}`
  return { from, to, subject: `Number ${name}`, html: `<p>Hello ${name}</p>`, text: `Hello ${name}` }
}

export async function createTemplate(api: Api): Promise<void> {
  const { body } = await api.request('POST', '/api/templates', { body: TEMPLATE })
  await api.request('POST', `/api/templates/${body.id}/publish`)
}

/** The same email, made from the template. */
export function templated({ account }: Sender, name: string, to: string | string[]) {
  return { from: `hello@${account.domain}`, to, template_id: TEMPLATE.alias, variables: { name } }
}

/** The same email with a file. */
export function withFile(sender: Sender, name: string, to: string | string[]) {
  const attachments = [{ filename: 'a.bin', content: FILE.toString('base64') }]
  return { ...plain(sender, name, to), attachments }
}

export type Arrival = { rcpt: string; message: Email }
type Mailbox = { sink: Sink; environment: Record<string, string>; read(): Promise<Arrival[]> }

/** A relay for workers that behaves as the recipients say (sink.ts) and keeps what it accepts. */
export async function openMailbox(t: Test): Promise<Mailbox> {
  const taken: { rcpts: string[]; content: Buffer }[] = []
  const sink = await openSink(t, { onMessage: (rcpts, content) => taken.push({ rcpts, content }) })
  return {
    sink,
    environment: { MAIL_TRANSPORT: sink.url, LOG_LEVEL: 'error' },
    async read() {
      const messages = taken.map(async ({ rcpts, content }) => {
        const message = await PostalMime.parse(content)
        return rcpts.map(rcpt => ({ rcpt, message }))
      })
      return (await Promise.all(messages)).flat()
    },
  }
}

/** Checks that html and text of every message are rendered and its own, and that `ok-file...` got the file. */
export function checkContents(t: Test, arrivals: Arrival[]): void {
  const faults = arrivals.filter(({ rcpt, message }) => {
    const name = /^(?:Number|Equal) (\S+)$/.exec(message.subject ?? '')?.[1]
    const files = message.attachments.map(({ content }) => FILE.equals(Buffer.from(content as ArrayBuffer)))
    const isWhole = message.html?.trim() === `<p>Hello ${name}</p>` && message.text?.trim() === `Hello ${name}`
    return !isWhole || `${files}` !== (rcpt.startsWith('ok-file') ? 'true' : '')
  })
  t.strictSame(faults.slice(0, 3), [], 'every message that arrived is complete')
}

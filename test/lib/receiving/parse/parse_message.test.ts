import t from 'tap'
import { parseMessage } from '#lib/receiving/parse/parse_message.ts'
import type { ParsedFile, ParsedMessage } from '#lib/receiving/parse/parsed_message.ts'
import { MIME_BOMBS } from '#test/support/mail/mime_bombs.ts'
import { type ExpectedFile, listReceivedMessages } from '#test/support/mail/received_messages.ts'

for (const { name, raw, expected } of listReceivedMessages()) {
  t.test(`${name} is parsed as intended`, async t => {
    const bytes = new Uint8Array(raw)
    const parsed = await parseMessage(bytes)
    t.ok(Buffer.from(parsed.raw).equals(raw), 'the bytes come back')
    if (!('message' in parsed)) return t.fail(parsed.refused)
    const { message } = parsed
    const shown = {
      ...message,
      text: plain(message.text),
      html: plain(message.html),
      to: message.to.map(to => to.address),
    }
    const { files, ...rest } = expected
    for (const [field, value] of Object.entries(rest)) t.strictSame(shown[field as keyof typeof shown], value, field)
    if (files)
      t.strictSame(
        message.files.map((file, i) => pick(file, files[i])),
        files.map(file => ({ ...file, content: plain(file.content ?? null) })),
      )
  })
}

for (const [name, make] of Object.entries(MIME_BOMBS)) {
  t.test(`a bomb of ${name} is parsed, or refused with a reason`, async t => {
    const parsed = await parseMessage(new Uint8Array(make(1)))
    t.ok('message' in parsed || parsed.refused)
  })
}

function pick(file: ParsedFile, expected: ExpectedFile | undefined): object {
  const { content, content_id, ...rest } = file
  const all = { ...rest, content: plain(Buffer.from(content).toString('latin1')) }
  return Object.fromEntries(Object.entries(all).filter(([key]) => !expected || key in expected))
}

/** With LF line ends and without the last one, since both vary with the encoding. */
function plain(text: ParsedMessage['text']): string | null {
  return text?.replaceAll('\r\n', '\n').trimEnd() ?? null
}

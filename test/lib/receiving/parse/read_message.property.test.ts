import { deepEqual, equal, ok } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { readMessage } from '#lib/receiving/parse/read_message.ts'
import { type MeantMessage, mimeMessages } from '#test/support/mail/generated_mime.ts'

const RUNS = 400

t.test('readMessage loses nothing of malformed messages', async t => {
  const property = fc.asyncProperty(mimeMessages, async meant => {
    const message = await readMessage(new Uint8Array(meant.raw))
    deepEqual(message.files.map(toMeant), meant.files)
    equal(plain(message.text), meant.texts.join('\n'))
    for (const html of meant.htmls) ok(plain(message.html).includes(html), html)
    equal(message.cut !== null, meant.hasLoss, `${message.cut}`)
  })
  await fc.assert(property, { numRuns: RUNS, seed: 20261122 })
  t.pass()
})

function toMeant(file: Awaited<ReturnType<typeof readMessage>>['files'][number]): MeantMessage['files'][number] {
  const { content_id: _id, charset: _charset, content, ...rest } = file
  return { ...rest, content: Buffer.from(content).toString('latin1') }
}

function plain(text: string | null): string {
  return (text ?? '').replaceAll('\r\n', '\n').trimEnd()
}

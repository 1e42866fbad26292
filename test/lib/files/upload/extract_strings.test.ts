import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { type ExtractOptions, extractStrings, type StringPart } from '#lib/files/upload/extract_strings.ts'
import { jsonTexts } from '#test/faults/support/json_texts.ts'
import { cut, mailPaths, readExtracted, readWhole } from '#test/support/extracted_json.ts'
import { shows } from '#test/support/shows.ts'

const options = { paths: mailPaths, max_bytes: 1_000, max_strings: 10 }

async function extract(text: string | Buffer, changes: Partial<ExtractOptions> = {}, length = 7) {
  const strings: string[] = []
  const take = ({ index, bytes }: StringPart) => {
    strings[index] = (strings[index] ?? '') + bytes
  }
  const skeleton = await extractStrings(cut(Buffer.from(text), [length]), { ...options, ...changes }, take)
  return { strings, text: String(skeleton.bytes), indexOf: skeleton.indexOf }
}

t.test('extractStrings extracts the content of attachments and keeps the rest', async t => {
  const before = '{"content":"a", "attachments" : [ {"filename":"x.txt","content":"'
  const after = '","x":{"content":"b"}}, {"content":null}, ["content","c"], "content" ], "html":"é\\u00e9"} '
  const { strings, text } = await extract(`${before}Zm9v${after}`)
  t.strictSame(strings, ['Zm9v'])
  t.equal(text.slice(0, before.length), before)
  t.equal(text.slice(-after.length), after)
})

t.test('extractStrings works for batches, and indexOf finds each placeholder', async t => {
  const { strings, text, indexOf } = await extract(
    '[{"attachments":[{"content":"a"},{"content":""}]},{"attachments":[{"content":"b"}]},[{"attachments":[{"content":"c"}]}]]',
  )
  t.strictSame(strings, ['a', '', 'b'])
  const found = JSON.parse(text, (key, value) => (key === 'content' ? indexOf(value) : value))
  t.strictSame(found, [
    { attachments: [{ content: 0 }, { content: 1 }] },
    { attachments: [{ content: 2 }] },
    [{ attachments: [{ content: null }] }],
  ])
})

t.test('text of a client is never mistaken for a placeholder', async t => {
  const first = await extract('{"attachments":[{"content":"a"}]}')
  const [placeholder] = /[0-9a-f-]{36}:0/.exec(first.text) ?? []
  const { text, indexOf } = await extract(`{"subject":"${placeholder}","attachments":[{"content":"${placeholder}"}]}`)
  const { subject, attachments } = JSON.parse(text)
  t.equal(subject, placeholder)
  t.strictSame([first.indexOf(placeholder), indexOf(subject), indexOf(attachments[0].content)], [0, null, 0])
  for (const value of [null, 0, {}, '', '0', ':0']) t.equal(indexOf(value), null)
})

t.test('escaped keys count, and the last of equal keys wins', async t => {
  const key = String.raw`"\u0063ont\u0065nt"`
  const { strings, text, indexOf } = await extract(
    `{"attachments":[{"content":"a"}],"\\u0061ttachments":[{"content":"b",${key}:"c"},{${key}:"d","content":1}]}`,
  )
  t.strictSame(strings, ['a', 'b', 'c', 'd'])
  const { attachments } = JSON.parse(text)
  t.equal(indexOf(attachments[0].content), 2)
  t.equal(attachments[1].content, 1)
})

t.test('an extracted string is unescaped, wherever it is cut', async t => {
  const written = String.raw`\/\"\\\b\f\n\r\t\u0041\u00e9\u20AC\ud83d\ude00\ud83dx\ude00\ud83d`
  for (const length of [1, 2, 3, 5, 1_000]) {
    const { strings } = await extract(`{"attachments":[{"content":"é€😀${written}"}]}`, {}, length)
    // Only pieces not cut within a character can be joined as text.
    if (length === 1_000) t.equal(strings[0], `é€😀${JSON.parse(`"${written}"`)}`.toWellFormed())
    const whole = await readExtracted(cut(Buffer.from(`{"attachments":[{"content":"é€😀${written}"}]}`), [length]))
    const content = `é€😀${JSON.parse(`"${written}"`)}`.toWellFormed()
    t.strictSame(whole, { attachments: [{ content: { content, is_well_formed: false } }] })
  }
})

t.test('extractStrings agrees with JSON.parse on every byte in a string and after a backslash', async t => {
  for (let byte = 0; byte < 256; byte++) {
    for (const before of ['', '\\', '\\u', '\\u00e', 'é']) {
      const text = (inside: string) => Buffer.from(`{"attachments":[{"content":"${inside}"}]}`)
      const body = Buffer.concat([text(`a${before}`).subarray(0, -4), Buffer.of(byte), text('').subarray(-4)])
      const found = await readExtracted(cut(body, [3]))
      if (!isDeepStrictEqual(found, readWhole(body))) t.fail(`${byte} behind ${before}`)
    }
  }
  t.pass('it holds')
})

t.test('the skeleton and the number of strings are limited', async t => {
  const content = 'x'.repeat(100_000)
  shows(t, await extract(`{"attachments":[{"content":"${content}"}]}`), { strings: [content] })
  await t.rejects(extract(`{"attachments":[{"x":"${content}"}]}`), { name: 'TooLargeError' })
  await t.rejects(extract(' '.repeat(1_001)), { name: 'TooLargeError' })
  t.equal((await extract(' '.repeat(1_000))).text.length, 1_000)

  const many = (count: number) => `{"attachments":[${Array(count).fill('{"content":""}')}]}`
  t.equal((await extract(many(10))).strings.length, 10)
  await t.rejects(extract(many(11)), { name: 'TooLargeError' })
})

t.test('extractStrings reads no further while a string is consumed or after a refusal', async t => {
  const text = `{"attachments":[{"content":"${'x'.repeat(1_000)}"}]}`
  let read = 0
  async function* pieces() {
    for await (const piece of cut(Buffer.from(text), [100])) {
      read++
      yield piece
    }
  }
  let taken = 0
  const take = async () => {
    await new Promise(setImmediate)
    if (++taken === 3) throw new Error('enough')
  }
  await t.rejects(extractStrings(pieces(), options, take), { message: 'enough' })
  t.equal(read, 3)
})

t.test('every JSON text is read as JSON.parse reads it: as body, attachments and content', async t => {
  for (const { text } of jsonTexts.filter(({ text }) => text.length < 150_000)) {
    for (const [before, after] of [
      ['', ''],
      ['{"attachments":', '}'],
      ['[{"attachments":[{"content":', '}]}]'],
    ] as const) {
      const body = Buffer.concat([Buffer.from(before), Buffer.from(text as string), Buffer.from(after)])
      const found = await readExtracted(cut(body, [body.length < 2_000 ? 1 : 997]))
      if (!isDeepStrictEqual(found, readWhole(body))) t.fail(String(body.subarray(0, 60)))
    }
  }
  t.pass('it holds')
})

t.test('text without content stays unchanged, however deep or long', async t => {
  for (const { text } of jsonTexts) {
    const skeleton = await extract(text, { max_bytes: 5_000_000 }, 4_999)
    if (!Buffer.from(skeleton.text).equals(Buffer.from(String(text)))) t.fail(String(text).slice(0, 60))
  }
  t.pass('it holds')
})

t.test('a body that arrives byte by byte is read correctly', async t => {
  const content = 'Zm9v'.repeat(20_000)
  const text = `{"html":"${'<p>'.repeat(20_000)}","attachments":[{"content":"${content}"},${'{"a":[]},'.repeat(7_000)}1]}`
  const skeleton = await readExtracted(cut(Buffer.from(text), [1]))
  t.ok(isDeepStrictEqual(skeleton, readWhole(Buffer.from(text))))
})

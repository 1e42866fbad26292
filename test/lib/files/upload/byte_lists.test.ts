import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { extractStrings, NotBytesError, type StringPart } from '#lib/files/upload/extract_strings.ts'
import { cut } from '#test/support/extracted_json.ts'

const paths = [
  ['attachments', '*', 'content'],
  ['attachments', '*', 'name'],
]
const options = { paths, lists: paths.slice(0, 1), max_bytes: 1_000, max_strings: 3 }

/** Returns the values, with the bytes of each list in its place. */
async function read(text: string, lengths: number[]): Promise<unknown> {
  const lists: number[][] = []
  const take = ({ index, bytes, is_list }: StringPart) => {
    lists[index] = [...(lists[index] ?? []), ...(is_list ? bytes : [-1])]
  }
  const { bytes, indexOf } = await extractStrings(cut(Buffer.from(text), lengths), options, take)
  return JSON.parse(String(bytes), (_, value) => lists[indexOf(value) ?? -1] ?? value)
}

t.test('extractStrings extracts lists of bytes, however they are spaced and cut', async t => {
  const gap = fc.constantFrom('', ' ', '\n\t ', '\r\n')
  const list = fc.array(fc.integer({ min: 0, max: 255 }), { maxLength: 20 })
  const lengths = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 3 })
  const reads = fc.asyncProperty(list, gap, gap, lengths, async (list, before, after, lengths) => {
    const numbers = list.map(byte => `${before}${byte}${after}`).join(',')
    const text = `{"attachments":[{"name":["x",[1]],"content" :${before}[${numbers || before}],"x":[256]}],"content":[1]}`
    const attachments = [{ name: ['x', [1]], content: list, x: [256] }]
    return isDeepStrictEqual(await read(text, lengths), { attachments, content: [1] })
  })
  await t.resolves(fc.assert(reads, { numRuns: 300 }))
})

t.test('extractStrings refuses lists of anything but bytes', async t => {
  const lists = [
    '256',
    '1000000',
    '-1',
    '1.5',
    '1e1',
    '01',
    '00',
    '1 2',
    ',',
    '1,',
    ',1',
    '1,,2',
    '"1"',
    '[1]',
    '{}',
    'null',
  ]
  for (const list of lists) {
    await t.rejects(read(`{"attachments":[{"content":[${list}]}]}`, [1]), NotBytesError, list)
  }
  await t.rejects(read('{"attachments":[{"content":[1', [1]), SyntaxError)
})

t.test('extractStrings counts lists among the strings', async t => {
  const lists = (count: number) => `{"attachments":[${Array(count).fill('{"content":[]}').join()}]}`
  await t.resolves(read(lists(3), [9]))
  await t.rejects(read(lists(4), [9]), { name: 'TooLargeError' })
})

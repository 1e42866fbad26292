import { Readable } from 'node:stream'
import fc from 'fast-check'
import t from 'tap'
import { CHUNK_SIZE, rechunk } from '#lib/files/chunker.ts'

async function lengthsOf(lengths: number[], size: number) {
  const pieces = lengths.map((length, number) => Buffer.alloc(length, number + 1))
  const chunks = await Array.fromAsync(rechunk(Readable.from(pieces), size))
  const isSame = Buffer.concat(chunks).equals(Buffer.concat(pieces))
  return { lengths: chunks.map(chunk => chunk.length), isSame }
}

t.test('a chunk is a whole number of base64 lines', async t => {
  t.equal(CHUNK_SIZE % 57, 0)
  t.ok(CHUNK_SIZE <= 256 * 1024 && CHUNK_SIZE > 256 * 1024 - 57)
})

t.test('pieces of any length become equal chunks and a shorter last one', async t => {
  t.strictSame(await lengthsOf([], 10), { lengths: [], isSame: true })
  t.strictSame(await lengthsOf([0], 10), { lengths: [], isSame: true })
  t.strictSame(await lengthsOf([10], 10), { lengths: [10], isSame: true })
  t.strictSame(await lengthsOf([3, 6, 2, 45], 10), { lengths: [10, 10, 10, 10, 10, 6], isSame: true })
  const [whole, rest] = [Math.floor(700_000 / CHUNK_SIZE), 700_000 % CHUNK_SIZE]
  const lengths = [...Array(whole).fill(CHUNK_SIZE), rest]
  t.strictSame(await lengthsOf([1, 699_999], CHUNK_SIZE), { lengths, isSame: true })
})

t.test('chunks contain all bytes unchanged', async t => {
  await t.resolves(
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat({ max: 9_000 }), { maxLength: 9 }),
        fc.integer({ min: 1, max: 9_000 }),
        async (pieces, size) => {
          const { lengths, isSame } = await lengthsOf(pieces, size)
          return isSame && lengths.slice(0, -1).every(length => length === size) && (lengths.at(-1) ?? 1) > 0
        },
      ),
    ),
  )
})

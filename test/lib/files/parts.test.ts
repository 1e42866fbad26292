import fc from 'fast-check'
import t from 'tap'
import { partsOf, type StreamPart } from '#lib/files/split_parts.ts'

async function* streamOf(chunks: Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks
}

t.test('partsOf fills every part but the last, which is empty only if everything is', async t => {
  const chunk = fc.uint8Array({ maxLength: 25 }).map(bytes => Buffer.from(bytes))
  const property = fc.asyncProperty(fc.array(chunk), fc.integer({ min: 1, max: 10 }), async (chunks, size) => {
    const parts: StreamPart[] = []
    for await (const part of partsOf(streamOf(chunks), size)) parts.push(part)
    const whole = Buffer.concat(chunks)
    const lengths = parts.map(({ bytes }) => bytes.length)
    const count = Math.max(1, Math.ceil(whole.length / size))
    return (
      Buffer.concat(parts.map(({ bytes }) => bytes)).equals(whole) &&
      parts.length === count &&
      lengths.slice(0, -1).every(length => length === size) &&
      parts.every(({ isLast }, index) => isLast === (index === count - 1))
    )
  })
  await t.resolves(fc.assert(property, { numRuns: 500 }))
})

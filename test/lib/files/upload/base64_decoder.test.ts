import { hash } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { Base64Decoder, decodeBase64 } from '#lib/files/upload/base64_decoder.ts'

const decoded = (text: string) => {
  const result = decodeBase64(text)
  return 'fault' in result ? result.fault : result.bytes.toString('latin1')
}

/** Decodes the text in pieces of these lengths, used in turn. */
function decodeInPieces(text: string, lengths: number[], limit?: number) {
  const decoder = new Base64Decoder(limit)
  const all = Buffer.from(text)
  const written: Buffer[] = []
  for (let at = 0, turn = 0; at < all.length; turn++) {
    const end = at + (lengths[turn % lengths.length] as number)
    written.push(decoder.write(all.subarray(at, end)))
    at = end
  }
  const end = decoder.end()
  return 'fault' in end ? end : { ...end, bytes: Buffer.concat([...written, end.bytes]) }
}

t.test('Base64Decoder decodes the examples of RFC 4648, with and without padding', async t => {
  const examples = {
    '': '',
    f: 'Zg==',
    fo: 'Zm8=',
    foo: 'Zm9v',
    foob: 'Zm9vYg==',
    fooba: 'Zm9vYmE=',
    foobar: 'Zm9vYmFy',
  }
  for (const [text, encoded] of Object.entries(examples)) {
    t.equal(decoded(encoded), text)
    t.equal(decoded(encoded.replaceAll('=', '')), text)
    t.equal(decoded([...encoded].join('\r\n')), text)
    t.equal(decoded(`\t${encoded} \n`), text)
  }
})

t.test('Base64Decoder accepts base64url', async t => {
  t.equal(decoded('-_-_'), decoded('+/+/'))
})

t.test('Base64Decoder refuses invalid text and says why', async t => {
  for (const [text, fault] of [
    ['Zm9vY', /cut short/],
    ['Z', /cut short/],
    ['Z===', /cut short/],
    ['Zg=', /the right padding/],
    ['Zg===', /the right padding/],
    ['Zm8==', /the right padding/],
    ['Zm9v=', /the right padding/],
    ['=', /the right padding/],
    ['====', /the right padding/],
    ['Zg==Zg==', /ends after its padding/],
    ['Zg==x', /ends after its padding/],
    ['Zm9v!Zm9v', /another character/],
    ['Zm9v\u0000', /another character/],
    ['Zm9vé', /another character/],
    ['Zm9v.', /another character/],
    ['data:image/png;base64,Zm9v', /without `data:…;base64,`/],
  ] as const) {
    t.match(decoded(text), fault, text)
    t.equal(Object.hasOwn(decodeInPieces(text, [1]), 'fault'), true, text)
  }
})

t.test('Base64Decoder returns nothing beyond the limit of bytes', async t => {
  const text = Buffer.alloc(1_000).toString('base64')
  t.match(decodeBase64(text, 1_000), { size: 1_000 })
  t.strictSame(decodeBase64(text, 999), { fault: 'must have at most 999 bytes' })
  const decoder = new Base64Decoder(999)
  const written = Array.from({ length: 30 }, () => decoder.write(Buffer.from(text.slice(0, 1_000))).length)
  t.strictSame([written[0], written[1], written[2]], [750, 0, 0])
  t.equal(decoder.fault, 'must have at most 999 bytes')
})

t.test('Base64Decoder decodes any wrapping and cutting, with the hash of the file', async t => {
  const styles = fc.record({
    encoding: fc.constantFrom('base64' as const, 'base64url' as const),
    line: fc.integer({ min: 1, max: 80 }),
    lengths: fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 5 }),
  })
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), styles, (data, { encoding, line, lengths }) => {
        const bytes = Buffer.from(data)
        const text = bytes.toString(encoding).replace(new RegExp(`.{${line}}`, 'g'), '$&\r\n')
        const result = decodeInPieces(text, lengths)
        if ('fault' in result) return false
        return (
          result.bytes.equals(bytes) &&
          result.size === bytes.length &&
          result.sha256.equals(hash('sha256', bytes, 'buffer'))
        )
      }),
      { numRuns: 2_000 },
    ),
  )
})

t.test('Base64Decoder accepts pieces exactly when it accepts the whole', async t => {
  const rules = /^(?:[A-Za-z0-9+/_-]{4})*(?:[A-Za-z0-9+/_-]{2}(?:==)?|[A-Za-z0-9+/_-]{3}=?)?$/
  const character = fc.oneof(
    { weight: 20, arbitrary: fc.constantFrom(...'ABab09+/') },
    { weight: 1, arbitrary: fc.constantFrom(...'-_=\n :.\0\u007fé\u0141') },
  )
  const texts = fc
    .tuple(fc.array(character, { maxLength: 40 }), fc.constantFrom('', '', '=', '==', '==='))
    .map(([all, end]) => all.join('') + end)
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(texts, fc.integer({ min: 1, max: 9 }), (text, length) => {
        const whole = decodeBase64(text)
        const cut = decodeInPieces(text, [length])
        const isValid = rules.test(text.replace(/[ \t\r\n]/g, ''))
        if ('fault' in whole || 'fault' in cut) return !isValid && 'fault' in whole && 'fault' in cut
        return isValid && whole.bytes.equals(cut.bytes) && whole.bytes.equals(Buffer.from(text, 'base64'))
      }),
      { numRuns: 10_000 },
    ),
  )
})

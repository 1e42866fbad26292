import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { cut, NOT_JSON, readExtracted, readWhole } from '#test/support/extracted_json.ts'

/** Draws one of the spellings of a character or gap, so that equal values occur in any spelling. */
type Draw = (choices: number) => number
type Member = [key: string, value: Value]
type Value = null | boolean | number | string | Value[] | { members: Member[] }

const character = fc.constantFrom(...'aZ9+/="\\\b\n\0 é€', '\ud83d', '\ude00', '😀', '\u007f', '\ufeff')
const text = fc.oneof(
  fc.array(character, { maxLength: 12 }).map(all => all.join('')),
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.base64String({ maxLength: 40 }),
)
const key = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('content', 'attachments', 'html', '__proto__', '', 'k'.repeat(70)) },
  text,
)
const scalar = fc.oneof(text, fc.constantFrom(null, true, false, 0, -1.5, 1e21))
const object = (member: fc.Arbitrary<Member>) => fc.array(member, { maxLength: 4 }).map(members => ({ members }))
const { value } = fc.letrec<{ value: Value }>(tie => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 4 }),
    object(fc.tuple(key, tie('value'))),
  ),
}))
const member = (name: string, of: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 3, arbitrary: fc.tuple(fc.constant(name), of) }, fc.tuple(key, value))
const attachment = fc.oneof({ weight: 4, arbitrary: object(member('content', scalar)) }, value)
const email = object(fc.oneof(member('attachments', fc.array(attachment, { maxLength: 3 })), member('html', scalar)))
const body = fc.oneof({ weight: 4, arbitrary: email }, fc.array(fc.oneof(email, value), { maxLength: 3 }), value)
const lengths = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 4 })
const draws = fc.infiniteStream(fc.nat()).map(
  (stream): Draw =>
    choices =>
      stream.next().value % choices,
)
const texts = fc.tuple(body, draws).map(([body, draw]) => Buffer.from(write(body, draw)))

const damage = fc.record({
  at: fc.nat(),
  drop: fc.nat({ max: 2 }),
  put: fc.constantFrom('', '"', '\\', '{', '}', '[', ']', ',', ':', '\n', '\x00', '\x80', '\xc3', '\xff', 'u', '"":'),
})

t.test('extractStrings agrees with JSON.parse, however the text is spelled and cut', async t => {
  await t.resolves(
    fc.assert(
      fc.asyncProperty(texts, lengths, async (text, lengths) => {
        const whole = readWhole(text)
        return whole !== NOT_JSON && isDeepStrictEqual(await readExtracted(cut(text, lengths)), whole)
      }),
      { numRuns: 1_000 },
    ),
  )
})

t.test('extractStrings refuses damaged text exactly when JSON.parse does', async t => {
  await t.resolves(
    fc.assert(
      fc.asyncProperty(
        texts,
        fc.array(damage, { minLength: 1, maxLength: 2 }),
        lengths,
        async (text, damages, lengths) => {
          const damaged = damages.reduce(apply, text)
          return isDeepStrictEqual(await readExtracted(cut(damaged, lengths)), readWhole(damaged))
        },
      ),
      { numRuns: 2_000 },
    ),
  )
})

function apply(text: Buffer, { at, drop, put }: { at: number; drop: number; put: string }): Buffer {
  const start = at % (text.length + 1)
  return Buffer.concat([text.subarray(0, start), Buffer.from(put, 'latin1'), text.subarray(start + drop)])
}

function write(value: Value, draw: Draw): string {
  const gap = () => ['', '', '', ' ', '\n', '\t\r'][draw(6)]
  if (Array.isArray(value)) return `${gap()}[${value.map(item => write(item, draw)).join(',')}${gap()}]${gap()}`
  if (typeof value === 'string') return `${gap()}"${[...value].map(all => writeCharacter(all, draw)).join('')}"${gap()}`
  if (typeof value !== 'object' || value === null) return `${gap()}${JSON.stringify(value)}${gap()}`
  const members = value.members.map(([key, member]) => `${write(key, draw)}:${write(member, draw)}`)
  return `${gap()}{${members.join(',')}${gap()}}${gap()}`
}

function writeCharacter(character: string, draw: Draw): string {
  const shortest = JSON.stringify(character).slice(1, -1)
  if (draw(4) > 0) return character === '/' && draw(2) ? '\\/' : shortest
  const units = character.split('').map(unit => unit.charCodeAt(0).toString(16).padStart(4, '0'))
  return units.map(unit => `\\u${draw(2) ? unit : unit.toUpperCase()}`).join('')
}

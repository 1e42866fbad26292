import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { parseJson } from '#lib/json/parse_json.ts'
import { JsonLimitError } from '#lib/json/scanner.ts'
import { encodeJson } from '#lib/json/write_json.ts'

const NO_LIMITS = { depth: 1e6, values: 1e9, total: 1e9 }
const LIMITS = { depth: 3, values: 10, total: 15 }
const NOT_JSON = 'not JSON'

/** Arrays of at least this length are parsed item by item. */
const LONG = 64 * 1024

const nested = fc.json({ maxDepth: 4, stringUnit: fc.constantFrom(...'a"\\,:[]{} é€', '\ud83d\ude00', '\0', '\ufeff') })
const text = fc.oneof({ weight: 4, arbitrary: fc.array(nested, { maxLength: 5 }).map(items => `[${items}]`) }, nested)
const damage = fc.record({
  at: fc.nat(),
  drop: fc.nat({ max: 2 }),
  put: fc.constantFrom('', '"', '\\', '{', '}', '[', ']', ',', ':', '\n', '\0', '\ufeff', '[]', '1'),
})
/** Place of a long row of spaces, which makes arrays long if it is after a comma or a bracket. */
const padding = fc.nat()
type Damage = { at: number; drop: number; put: string }

function apply(text: string, { at, drop, put }: Damage): string {
  const start = at % (text.length + 1)
  return text.slice(0, start) + put + text.slice(start + drop)
}

async function outcome(parse: () => unknown): Promise<unknown> {
  try {
    return await parse()
  } catch {
    return NOT_JSON
  }
}
const whole = (bytes: Buffer) => outcome(() => JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)))

t.test('parseJson agrees with JSON.parse on any text', async t => {
  const damages = fc.array(damage, { maxLength: 2 })
  await t.resolves(
    fc.assert(
      fc.asyncProperty(text, damages, padding, async (text, damages, padding) => {
        const bytes = Buffer.from(apply(damages.reduce(apply, text), { at: padding, drop: 0, put: ' '.repeat(LONG) }))
        return isDeepStrictEqual(await outcome(() => parseJson(bytes, NO_LIMITS)), await whole(bytes))
      }),
      { numRuns: 1_000 },
    ),
  )
})

t.test('parseJson refuses broken UTF-8', async t => {
  const long = ' '.repeat(LONG)
  for (const broken of ['\xe5', '\xc3', '\xff', '\xed\xa0\x80']) {
    for (const text of [
      `["${broken}"${long}]`,
      `[1,"${broken}",2${long}]`,
      `[1${broken},2${long}]`,
      `${broken}[${long}]`,
    ]) {
      t.equal(await outcome(() => parseJson(Buffer.from(text, 'latin1'), NO_LIMITS)), NOT_JSON, text.slice(0, 12))
    }
  }
  t.same(await parseJson(Buffer.from(`\ufeff[1${long}]`), NO_LIMITS), [1], 'a byte order mark')
})

type Size = { depth: number; values: number }

/** The depth, and the number of keys, values and pairs of brackets, of which parseJson may count an empty pair as one. */
function measure(value: unknown): Size {
  if (typeof value !== 'object' || value === null) return { depth: 0, values: 1 }
  const sizes = Object.values(value).map(measure)
  const keys = Array.isArray(value) ? 0 : sizes.length
  const within = sizes.length === 0 ? 1 : sizes.reduce((sum, { values }) => sum + values, 0)
  return { depth: 1 + Math.max(0, ...sizes.map(({ depth }) => depth)), values: 1 + keys + within }
}

t.test('parseJson refuses JSON that is too deep or has too many values', async t => {
  await t.resolves(
    fc.assert(
      fc.asyncProperty(text, async text => {
        const { depth, values } = measure(JSON.parse(text))
        const error = await parseJson(Buffer.from(text), LIMITS).then(
          () => null,
          error => error,
        )
        const isRefused = error instanceof JsonLimitError
        if (depth > LIMITS.depth || values > 2 * LIMITS.total) return isRefused
        return isRefused ? values > LIMITS.values : error === null
      }),
      { numRuns: 2_000 },
    ),
  )
})

t.test('encodeJson equals JSON.stringify, for long strings too', async t => {
  const unit = fc.constantFrom('a', '"', '\n', 'é', '€', '😀', '\ud800', '\udc00', '\0')
  const string = fc
    .tuple(fc.array(unit, { minLength: 1, maxLength: 9 }), fc.nat({ max: 70_000 }))
    .map(([units, count]) => {
      const text = units.join('')
      return text.repeat(Math.ceil(count / text.length))
    })
  const value = fc.oneof(
    fc.jsonValue(),
    fc.dictionary(fc.string(), fc.oneof(string, fc.jsonValue())),
    fc.array(string),
    string,
  )
  const more = fc.constantFrom(undefined, Number.NaN, new Date(0))
  await t.resolves(
    fc.assert(
      fc.asyncProperty(value, more, async (value, more) => {
        const all = [value, more, { value, more, none: undefined }]
        return String(await encodeJson(all)) === JSON.stringify(all)
      }),
      { numRuns: 80 },
    ),
  )
})

import fc from 'fast-check'
import t from 'tap'
import { parseDuration } from '#lib/automations/durations.ts'

const SECONDS = { second: 1, minute: 60, hour: 3_600, day: 86_400, week: 604_800 }
type Unit = keyof typeof SECONDS

const part = fc.record({
  count: fc.nat(999_999_999),
  unit: fc.constantFrom(...(Object.keys(SECONDS) as Unit[])),
  plural: fc.boolean(),
  space: fc.constantFrom('', ' ', '  '),
})

t.test('a duration is the sum of its parts', async t => {
  const between = fc.constantFrom(' ', ', ', ' and ', ', and ')
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 3 }), between, fc.boolean(), (parts, joint, loud) => {
      const text = parts
        .map(({ count, unit, plural, space }) => `${count}${space}${unit}${plural ? 's' : ''}`)
        .join(joint)
      const seconds = parts.reduce((sum, { count, unit }) => sum + count * SECONDS[unit], 0)
      t.equal(parseDuration(loud ? ` ${text.toUpperCase()} ` : text), seconds)
    }),
  )
})

t.test('other texts are not durations', async t => {
  const texts = [
    '',
    'soon',
    '3',
    'days',
    '3 months',
    '-3 days',
    '1.5 hours',
    '3 days ago',
    '3 days,',
    'PT3H',
    '3d',
    '1 day1 hour',
  ]
  for (const text of texts) t.equal(parseDuration(text), null, text)
  fc.assert(fc.property(fc.string(), text => parseDuration(text) === null || /\d\s*[a-z]/i.test(text)))
  t.equal(parseDuration(`1 day ${' 1 day'.repeat(10_000)}`), null)
})

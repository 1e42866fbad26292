import fc from 'fast-check'
import t from 'tap'
import { NewPoll } from '#lib/polls/new_poll.ts'

const keysOf = (options: unknown[]) => NewPoll.parse({ question: 'x', options }).options.map(({ key }) => key)

t.test('keys are derived from labels and are unique', async t => {
  t.strictSame(keysOf(['Very good!', 'Très bien', '5 %']), ['very_good', 'tres_bien', '5'])
  t.strictSame(keysOf(['C', 'C++', 'c#']), ['c', 'c_2', 'c_3'])
  t.strictSame(keysOf(['👍', '👎', '是']), ['option_1', 'option_2', 'option_3'])
  t.strictSame(keysOf(['A', { key: 'a', label: 'Other' }]), ['a_2', 'a'])
})

t.test('different labels have different keys that placeholders can name', async t => {
  const label = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
  const labels = fc.uniqueArray(label, { minLength: 2, maxLength: 10, selector: text => text.trim() })
  let parsed = 0
  fc.assert(
    fc.property(labels, labels => {
      const { success, data } = NewPoll.safeParse({ question: 'x', options: labels })
      if (!success) return
      parsed++
      const keys = data.options.map(({ key }) => key)
      t.equal(new Set(keys).size, labels.length)
      t.strictSame(
        keys.filter(key => !/^[\w-]{1,80}$/.test(key)),
        [],
      )
    }),
    { numRuns: 300 },
  )
  t.ok(parsed > 100, `${parsed} of 300 are polls`)
})

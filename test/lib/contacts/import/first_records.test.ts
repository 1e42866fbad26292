import t from 'tap'
import { FirstRecords } from '#lib/contacts/import/first_records.ts'

const COUNT = 20_000
const numbers = Array.from({ length: COUNT }, (_, index) => index + 1)
const addressOf = (n: number) => `person${n}@example${n % 7}.com`

t.test('FirstRecords returns the first record of each address, in any number of tables', t => {
  for (const [slots, max_tables] of [
    [2 ** 20, 1],
    [2 ** 10, 30],
  ] as const) {
    const records = new FirstRecords({ slots, max_tables })
    t.ok(numbers.every(n => records.find(addressOf(n), n) === 0))
    t.ok(numbers.every(n => records.find(addressOf(n), COUNT + n) === n))
    t.ok(numbers.every(n => records.find(addressOf(n), 2 * COUNT + n) === n))
  }
  t.end()
})

t.test('FirstRecords that are full know the addresses that they have', t => {
  const records = new FirstRecords({ slots: 8, max_tables: 2 })
  const first = () => numbers.slice(0, 20).map(n => records.find(addressOf(n), n))
  t.strictSame(first(), Array(20).fill(0))
  t.strictSame(first(), [...numbers.slice(0, 12), ...Array(8).fill(0)])
  t.end()
})

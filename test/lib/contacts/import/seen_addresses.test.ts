import t from 'tap'
import { SeenAddresses } from '#lib/contacts/import/seen_addresses.ts'

const addressOf = (n: number) => `person${n}@example${n % 7}.com`

t.test('SeenAddresses knows every added address and has few false positives', async t => {
  const seen = new SeenAddresses(2 ** 20)
  const first = Array.from({ length: 20_000 }, (_, n) => seen.add(addressOf(n)))
  const again = Array.from({ length: 20_000 }, (_, n) => seen.add(addressOf(n)))
  t.equal(again.filter(isKnown => !isKnown).length, 0)
  t.ok(first.filter(isKnown => isKnown).length < 100)
})

t.test('a full SeenAddresses reports every address as known', async t => {
  const seen = new SeenAddresses(64)
  for (let n = 0; n < 1_000; n++) seen.add(addressOf(n))
  t.equal(seen.add('new@acme.com'), true)
})

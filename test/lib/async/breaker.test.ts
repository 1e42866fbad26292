import t from 'tap'
import { Breaker } from '#lib/async/circuit_breaker.ts'

t.test('Breaker opens after five failures in a row', t => {
  const { breaker } = open(0)
  for (let i = 0; i < 4; i++) breaker.failed('away')
  t.equal(breaker.refuses(), null)
  breaker.succeeded()
  for (let i = 0; i < 4; i++) breaker.failed('away')
  t.equal(breaker.refuses(), null)
  breaker.failed('away')
  t.equal(breaker.refuses(), 'Not tried after 5 failures in a row. away')
  t.end()
})

t.test('Breaker lets one probe through per pause, which doubles from 5 s to 5 min', t => {
  const { breaker, clock } = open(5)
  for (const pause of [5, 10, 20, 40, 80, 160, 300, 300]) {
    clock.ms += pause * 1_000 - 1
    t.type(breaker.refuses(), 'string', `not before ${pause} s`)
    clock.ms += 1
    t.equal(breaker.refuses(), null, `after ${pause} s`)
    t.type(breaker.refuses(), 'string', 'no other request is let through')
    breaker.failed('away')
  }
  breaker.succeeded()
  t.equal(breaker.refuses(), null)
  for (let i = 0; i < 5; i++) breaker.failed('away')
  clock.ms += 5_000
  t.equal(breaker.refuses(), null, 'from 5 s again')
  t.end()
})

t.test('Breaker ignores failures of requests that began before it opened', t => {
  const { breaker, clock } = open(20)
  t.type(breaker.refuses(), 'string')
  clock.ms += 4_000
  breaker.failed('away')
  clock.ms += 1_000
  t.equal(breaker.refuses(), null)
  t.end()
})

t.test('Breaker lets the next probe through if the last one never ends', t => {
  const { breaker, clock } = open(5)
  clock.ms += 5_000
  t.equal(breaker.refuses(), null)
  clock.ms += 5_000
  t.equal(breaker.refuses(), null)
  t.end()
})

function open(failures: number) {
  const clock = { ms: 0 }
  const breaker = new Breaker(() => clock.ms)
  for (let i = 0; i < failures; i++) breaker.failed('away')
  return { breaker, clock }
}

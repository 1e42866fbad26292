import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { PatientTimer } from '#lib/async/patient_timer.ts'
import { standStill } from '#test/support/stand_still.ts'

t.test('PatientTimer does not count time when the process stood still', async t => {
  let timeouts = 0
  const expired = Promise.withResolvers<void>()
  new PatientTimer(300, () => {
    timeouts++
    expired.resolve()
  })
  standStill(400)
  await nextTurn() // timers that are due have fired
  t.equal(timeouts, 0)
  await expired.promise
  t.equal(timeouts, 1)
})

t.test('PatientTimer waits at most twice its time', async t => {
  let timeouts = 0
  new PatientTimer(50, () => timeouts++)
  for (let turns = 0; turns < 4; turns++) {
    standStill(200)
    await nextTurn()
    await nextTurn()
  }
  t.equal(timeouts, 1)
})

t.test('PatientTimer does not fire after clear', async t => {
  let timeouts = 0
  const timer = new PatientTimer(20, () => timeouts++)
  standStill(50)
  await nextTurn() // it has started anew
  timer.clear()
  const later = Promise.withResolvers<void>()
  new PatientTimer(100, later.resolve)
  await later.promise
  t.equal(timeouts, 0)
})

import t from 'tap'
import { overload } from '#test/faults/overload.ts'
import { openTestStage, passes } from '#test/faults/support/test_stage.ts'

t.test('an overloaded web process is slow or refuses, but sends what it accepts', async t => {
  const options = { connections: 200, seconds: 2, statement_ms: 0, bytes: 5, delay_ms: Number.POSITIVE_INFINITY }
  passes(t, await overload(await openTestStage(t), options))
})

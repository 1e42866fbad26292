import t from 'tap'
import { overload } from '#test/faults/overload.ts'
import { openTestStage, passes } from '#test/faults/support/test_stage.ts'

t.test(
  'more callers than a web process can serve are answered slowly or refused, and what is accepted is sent',
  async t => {
    const options = { connections: 200, seconds: 2, statement_ms: 0, bytes: 5, delay_ms: Number.POSITIVE_INFINITY }
    passes(t, await overload(await openTestStage(t), options))
  },
)

import t from 'tap'
import { rotateDkim } from '#test/faults/rotate_dkim.ts'
import { openTestStage, passes } from '#test/faults/support/test_stage.ts'

// The short version; test/faults has the long one.

t.test('emails sent during a DKIM rotation arrive with two valid signatures', async t => {
  passes(t, await rotateDkim(await openTestStage(t), { rotations: 1, messages: 40, workers: 1 }))
})

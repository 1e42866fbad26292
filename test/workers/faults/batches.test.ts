import t from 'tap'
import { killBatches } from '#test/faults/kill_batches.ts'
import { openTestStage, passes } from '#test/faults/support/test_stage.ts'

// The short version; test/faults has the long one.

t.test('the response to a batch matches what is stored, whichever process is killed', async t => {
  passes(t, await killBatches(await openTestStage(t), { batches: 9, kills: 3, connections: 4 }))
})

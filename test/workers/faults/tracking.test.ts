import t from 'tap'
import { killTracking } from '#test/faults/kill_tracking.ts'
import { openTestStage, passes } from '#test/faults/support/test_stage.ts'

t.test('a web process that is killed loses the hits of a moment, and no figure is wrong', async t => {
  const stage = await openTestStage(t)
  passes(t, await killTracking(stage, { kills: 2, emails: 40, visitors: 4 }))
})

import t from 'tap'
import { killSmtp } from '#test/faults/kill_smtp.ts'
import { openTestStage, passes } from '#test/faults/support/test_stage.ts'

t.test('a receiving process that is killed loses nothing it has accepted, and nothing is stored twice', async t => {
  passes(t, await killSmtp(await openTestStage(t), { runs: 1, senders: 10 }))
})

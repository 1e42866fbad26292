import t from 'tap'
import { killSmtp } from '#test/faults/kill_smtp.ts'
import { openTestStage, passes } from '#test/faults/support/test_stage.ts'

t.test('a killed SMTP process loses no accepted message and stores none twice', async t => {
  passes(t, await killSmtp(await openTestStage(t), { runs: 1, senders: 10 }))
})

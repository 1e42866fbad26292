import t from 'tap'
import { shiftClocks } from '#test/faults/shift_clocks.ts'
import { openTestStage, passes } from '#test/faults/support/test_stage.ts'

// The short version; test/faults has the long one.

const DAY = 86_400_000

t.test('wrong clocks of processes do not change when email is sent or found', async t => {
  const options = { webs: [-DAY, DAY / 24], workers: [DAY, -DAY / 24], emails: 70 }
  passes(t, await shiftClocks(await openTestStage(t), options))
})

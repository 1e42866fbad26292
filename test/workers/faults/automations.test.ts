import t from 'tap'
import { followAutomation } from '#test/faults/follow_automation.ts'
import { stopAutomations } from '#test/faults/stop_automations.ts'
import { stormAutomations } from '#test/faults/storm_automations.ts'
import { openTestStage, passes } from '#test/faults/support/test_stage.ts'

t.test('a stopped automation advances no run and sends no email', async t => {
  const stage = await openTestStage(t)
  passes(t, await stopAutomations(stage, { runs: 2_000 }))
})

t.test('each contact gets exactly the emails in its run, despite edits, kills and stops', async t => {
  const stage = await openTestStage(t)
  passes(t, await followAutomation(stage, { people: 16, timeout_seconds: 12 }))
})

t.test('automations that start each other end, and a storm of events starts ten runs per contact', async t => {
  const stage = await openTestStage(t)
  const { report } = await stormAutomations(stage, { seconds: 2, events_per_second: 100, loops_per_second: 2 })
  passes(t, report)
})

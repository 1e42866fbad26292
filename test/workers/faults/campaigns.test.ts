import t from 'tap'
import { killCampaigns } from '#test/faults/kill_campaigns.ts'
import { killRecurring } from '#test/faults/kill_recurring.ts'
import { openTestStage, passes } from '#test/faults/support/test_stage.ts'

t.test('a campaign whose workers are killed reaches each recipient once', async t => {
  const stage = await openTestStage(t)
  // Most of them are canceled: if fewer were left, a campaign might end before a web process has started for the pause.
  const options = { recipients: 4_000, kills: 2, crashes: 0, web_kills: 3, connections: 4, cancel_at: 12 }
  passes(t, await killCampaigns(stage, options))
})

t.test('a recurring campaign whose workers are killed has each run once', async t => {
  const stage = await openTestStage(t)
  passes(t, await killRecurring(stage, { runs: 3, recipients: 200, kills: 2, web_kills: 1 }))
})

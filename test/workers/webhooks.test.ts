import t from 'tap'
import { killWebhooks } from '#test/faults/kill_webhooks.ts'
import { openTestStage, passes } from '#test/faults/support/test_stage.ts'

// The short version; test/faults has the long one, and workers that are stopped and frozen, and their database that crashes.

t.test('a worker that is killed leaves no webhook untold', async t => {
  passes(t, await killWebhooks(await openTestStage(t), { emails: 40, kills: 2 }))
})

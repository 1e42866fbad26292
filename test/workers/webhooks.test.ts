import t from 'tap'
import { killWebhooks } from '#test/faults/kill_webhooks.ts'
import { openTestStage, passes } from '#test/faults/support/test_stage.ts'

// The short version; test/faults has the long one, with workers that are stopped and frozen and a database that crashes.

t.test('webhooks are delivered even if workers are killed', async t => {
  passes(t, await killWebhooks(await openTestStage(t), { emails: 40, kills: 2 }))
})

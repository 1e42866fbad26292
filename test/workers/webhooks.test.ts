import t from 'tap'
import { crashUnderWebhooks, killWebhooks } from '../faults/kill_webhooks.ts'
import { Postgres } from '../faults/postgres.ts'
import { openStage } from '../faults/stage.ts'
import { freezeWebhooks, stopWebhooks } from '../faults/stop_webhooks.ts'
import { openTestStage, passes } from './stage.ts'

// The short versions; test/faults has the long ones.

t.test('a worker that is killed leaves no webhook untold', async t => {
  passes(t, await killWebhooks(await openTestStage(t), { emails: 60, kills: 2 }))
})

t.test('a worker that is stopped tells no webhook anything twice, and holds up nobody', async t => {
  passes(t, await stopWebhooks(await openTestStage(t), { emails: 60, stops: 2 }))
})

t.test('a worker that was frozen tells no webhook what another has told it meanwhile', async t => {
  passes(t, await freezeWebhooks(await openTestStage(t), { emails: 60, freezes: 1 }))
})

t.test('what webhooks were told is known after Postgres has crashed', async t => {
  const postgres = await Postgres.create()
  t.teardown(() => postgres.close())
  const stage = await openStage(postgres.url)
  t.teardown(() => stage.close())
  passes(t, await crashUnderWebhooks(stage, postgres, { emails: 60, crashes: 1 }))
})

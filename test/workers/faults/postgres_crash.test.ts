import t from 'tap'
import { crashPostgres } from '#test/faults/kill_postgres.ts'
import { Postgres } from '#test/faults/support/postgres.ts'
import { openStage } from '#test/faults/support/stage.ts'
import { passes } from '#test/faults/support/test_stage.ts'

t.test('acknowledged requests are stored however Postgres crashes, and work continues', async t => {
  const postgres = await Postgres.create()
  t.teardown(() => postgres.close())
  const stage = await openStage(postgres.url)
  t.teardown(() => stage.close())
  const hows = ['immediate stop', 'kill -9 of all'] as const
  passes(t, await crashPostgres(stage, postgres, { crashes: 2, emails: 270, connections: 16, hows: [...hows] }))
})

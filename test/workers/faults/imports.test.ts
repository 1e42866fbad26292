import t from 'tap'
import { killImports } from '#test/faults/kill_imports.ts'
import { Postgres } from '#test/faults/support/postgres.ts'
import { openStage } from '#test/faults/support/stage.ts'
import { passes } from '#test/faults/support/test_stage.ts'

t.test(
  'a worker killed in the middle of imports, and a Postgres that crashes, lose no row and merge none twice',
  async t => {
    const postgres = await Postgres.create()
    t.teardown(() => postgres.close())
    const stage = await openStage(postgres.url)
    t.teardown(() => stage.close())
    passes(t, await killImports(stage, postgres, { rows: 3_000, kills: 3, crashes: 1, writers: 3, pause_ms: 80 }))
  },
)

import t from 'tap'
import { killImports } from '#test/faults/kill_imports.ts'
import { openTestStage, passes } from '#test/faults/support/test_stage.ts'

t.test('a worker killed in the middle of imports loses no row and merges none twice', async t => {
  const stage = await openTestStage(t)
  passes(t, await killImports(stage, { rows: 3_000, kills: 3, writers: 3 }))
})

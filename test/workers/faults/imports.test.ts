import t from 'tap'
import { importFiles } from '#test/faults/import_files.ts'
import { killImports } from '#test/faults/kill_imports.ts'
import { Postgres } from '#test/faults/support/postgres.ts'
import { openStage } from '#test/faults/support/stage.ts'
import { openTestStage, passes } from '#test/faults/support/test_stage.ts'

t.test('imports merge each row once when workers are killed and Postgres crashes', async t => {
  const postgres = await Postgres.create()
  t.teardown(() => postgres.close())
  const stage = await openStage(postgres.url)
  t.teardown(() => stage.close())
  passes(t, await killImports(stage, postgres, { rows: 3_000, kills: 3, crashes: 1, writers: 3, pause_ms: 80 }))
})

t.test('files in several encodings are imported, and each bad row is named', async t => {
  const options = { rows: 1_000, bad: 10, cell_mb: 2, first: 0, files: 3, most_mb: 300 }
  passes(t, await importFiles(await openTestStage(t), options))
})

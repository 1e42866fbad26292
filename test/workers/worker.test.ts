import t from 'tap'
import { freezeWorker } from '#test/faults/freeze_worker.ts'
import { killWorkers } from '#test/faults/kill_workers.ts'
import { stopWorker } from '#test/faults/stop_worker.ts'
import { openTestStage, passes } from '#test/faults/support/test_stage.ts'

// The short versions; test/faults has the long ones.

t.test('a killed worker loses nothing, and repeats only emails marked in doubt', async t => {
  const options = { emails: 240, kills: 2, connections: 40, behaviours: ['ok', 'slow250-50'] }
  passes(t, await killWorkers(await openTestStage(t), options))
})

t.test('a stopped worker gives back unsent emails and leaves no locked jobs', async t => {
  passes(t, await stopWorker(await openTestStage(t), { emails: 200, stops: 2 }))
})

t.test('a frozen worker sends nothing that another worker has taken over', async t => {
  passes(t, await freezeWorker(await openTestStage(t), { emails: 200, freezes: 1 }))
})

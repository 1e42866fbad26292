import t from 'tap'
import { runWebProcesses } from '../faults/web_processes.ts'
import { openTestStage, passes } from './stage.ts'

t.test('several web processes share a port, are replaced, and stop together', async t => {
  passes(t, await runWebProcesses(await openTestStage(t), { load_ms: 500 }))
})

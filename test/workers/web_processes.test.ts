import t from 'tap'
import { openTestStage, passes } from '#test/faults/support/test_stage.ts'
import { runWebProcesses } from '#test/faults/web_processes.ts'

t.test('several web processes share a port, are replaced and stop together', async t => {
  const ways = ['SIGTERM to all, as systemd does'] as const
  passes(t, await runWebProcesses(await openTestStage(t), { load_ms: 300, ways: [...ways] }))
})

import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { request } from 'undici'
import { openTestStage, passes } from '#test/faults/support/test_stage.ts'
import { runWebProcesses, startWebProcesses } from '#test/faults/web_processes.ts'

t.test('several web processes share a port, are replaced and stop together', async t => {
  const ways = ['SIGTERM to all, as systemd does'] as const
  passes(t, await runWebProcesses(await openTestStage(t), { load_ms: 300, ways: [...ways] }))
})

t.test('a request is answered by another web process if one is frozen and then killed', async t => {
  const { url, pids } = await startWebProcesses(await openTestStage(t))
  const [frozen] = pids() as [number]
  process.kill(frozen, 'SIGSTOP')
  const ask = async () =>
    (await request(`${url}/healthz`, { reset: true, signal: AbortSignal.timeout(20_000) })).statusCode
  const asked = Array.from({ length: 8 }, ask)
  await sleep(500)
  process.kill(frozen, 'SIGKILL')
  t.strictSame(await Promise.all(asked), Array(8).fill(200))
})

import t from 'tap'
import { starve } from '../faults/few_descriptors.ts'
import { openTestStage, passes } from './stage.ts'

t.test('a web process and a worker with few descriptors serve and send, however many sockets are wanted', async t => {
  const options = { descriptors: 96, sockets: 300, seconds: 1, emails: 120, slow_ms: 300, large: 0 }
  passes(t, await starve(await openTestStage(t), options))
})

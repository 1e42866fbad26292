import t from 'tap'
import { OneAtATime } from '#lib/async/fair/one_at_a_time.ts'

t.test('calls with one key run in turn, others beside them', async t => {
  const turns = new OneAtATime()
  const log: string[] = []
  const gates = ['a1', 'a2', 'b1'].map(name => ({ name, ...Promise.withResolvers<void>() }))
  const calls = gates.map(({ name, promise }) =>
    turns.run(name[0] as string, async () => {
      log.push(`${name} begins`)
      await promise
      log.push(`${name} ends`)
      return name
    }),
  )
  for (const gate of gates) await Promise.resolve(gate.resolve()).then(() => new Promise(setImmediate))
  t.strictSame(await Promise.all(calls), ['a1', 'a2', 'b1'])
  t.strictSame(
    log.filter(line => line.startsWith('a')),
    ['a1 begins', 'a1 ends', 'a2 begins', 'a2 ends'],
  )
  t.equal(log[1], 'b1 begins')
})

t.test('a call that fails does not hold up the next one, and keys are forgotten', async t => {
  const turns = new OneAtATime()
  const failing = turns.run('a', () => Promise.reject(new Error('refused')))
  const next = turns.run('a', async () => 'done')
  await t.rejects(failing, { message: 'refused' })
  t.equal(await next, 'done')
  await new Promise(setImmediate)
  t.equal(turns.size, 0)
})

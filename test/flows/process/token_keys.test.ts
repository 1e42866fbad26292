import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { addTokenKey, createReadTokenKeys } from '#flows/process/token_keys.ts'
import { openWorld } from '#test/support/world.ts'

const world = await openWorld(t)

t.test('a process that used no keys for long knows those that were added meanwhile', async t => {
  const read = createReadTokenKeys(world, 10, 100)
  t.strictSame((await read()).kids, [1])
  await sleep(20)
  const added = await addTokenKey(world)
  await world.pool.pg.query("UPDATE token_keys SET created_at = created_at - interval '1 hour'")
  await sleep(150)
  const { kids, signing } = await read()
  t.strictSame({ kids, signing }, { kids: [1, added], signing: added })
})

t.test('keys in use are read without waiting, and stay in use if they cannot be read again', async t => {
  const read = createReadTokenKeys(world, 10, 100)
  const { kids } = await read()
  await world.pool.pg.query('ALTER TABLE token_keys RENAME TO token_keys_away')
  t.teardown(() => world.pool.pg.query('ALTER TABLE token_keys_away RENAME TO token_keys'))
  for (const pause of [20, 150]) {
    await sleep(pause)
    t.strictSame((await read()).kids, kids)
  }
})

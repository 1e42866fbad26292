import t, { type Test } from 'tap'
import { openGraphilePool, silentLogger } from '#sql/graphile.ts'
import { createDatabase } from '#test/support/database/database.ts'
import { startPooler } from '#test/support/database/pooler.ts'

const url = await createDatabase(t)

t.test('connections of graphile-worker do not wait for the disk, except behind a pooler', async t => {
  t.equal(await waitsForDisk(t, url), 'off')
  t.equal(await waitsForDisk(t, await startPooler(t, url)), 'on')
})

async function waitsForDisk(t: Test, url: string): Promise<string> {
  const pool = openGraphilePool(url, 1, silentLogger)
  t.teardown(() => pool.end())
  return (await pool.query('SHOW synchronous_commit')).rows[0].synchronous_commit
}

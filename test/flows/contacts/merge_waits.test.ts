import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { lockContacts } from '#sql/contacts/contact_changes.ts'
import { startApi } from '#test/support/api.ts'
import { Imports } from '#test/support/contacts/imports.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const { pool } = world
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const imports = new Imports(api, account.key, openWork(t, world).importer)

/** How long others write if the import does not end sooner. */
const PATIENCE_MS = 30_000

/** Transactions that write contacts, one after another, until the signal stops them; returns how many have failed. */
async function writeAllTheTime(signal: AbortSignal): Promise<number> {
  let failed = 0
  while (!signal.aborted) {
    const written = pool.transaction(async tx => {
      await lockContacts(tx, account.id, account.domain_id)
      await sleep(600)
    })
    await written.catch(() => failed++)
  }
  return failed
}

t.test('an import ends although others write contacts of the account all the time', async t => {
  const end = new AbortController()
  const late = setTimeout(() => end.abort(), PATIENCE_MS)
  const writers: Promise<number>[] = []
  for (let n = 0; n < 4; n++) {
    writers.push(writeAllTheTime(end.signal))
    await sleep(150)
  }
  const ended = await imports.ofText('email\nann@b.com\nbob@b.com\n')
  t.equal(end.signal.aborted, false, 'it ended before them')
  clearTimeout(late)
  end.abort()
  shows(t, ended, { status: 'completed', counts: { created: 2 } })
  t.strictSame(await Promise.all(writers), [0, 0, 0, 0])
})

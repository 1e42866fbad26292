import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { mergeRows } from '#flows/contacts/import/merge_rows.ts'
import { runImport } from '#flows/contacts/import/run_import.ts'
import { type Leased, stageFile } from '#flows/contacts/import/stage_file.ts'
import { StageProgress } from '#flows/contacts/import/stage_progress.ts'
import { createBlobs } from '#flows/files/blobs.ts'
import { newId } from '#lib/ids.ts'
import { claimImports, extendImportLeases, noteRecords } from '#sql/contacts/import/leases.ts'
import { mergeSlices } from '#sql/contacts/import/merge_slices.ts'
import { clearStage, dropStage } from '#sql/contacts/import/staging.ts'
import { sql } from '#sql/pool.ts'
import { isLockTimeout } from '#sql/retry.ts'
import { startApi } from '#test/support/api.ts'
import { openTransaction } from '#test/support/database/locks.ts'
import { shows } from '#test/support/shows.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const { pool } = world
const services = { pool, blobs: createBlobs(world) }
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const { signal } = new AbortController()

/** More than a chunk. The last record repeats the address of the first. */
const RECORDS = 6_000

/** Creates an import and leases it to this test. */
async function lease(mark: string, records = RECORDS, options = {}): Promise<Leased> {
  const lines = Array.from({ length: records - 1 }, (_, n) => `${mark}${n}@b.com`)
  const { status, text, body } = await api.request('POST', '/api/contacts/imports', {
    body: { csv: ['email', ...lines, `${mark}0@b.com`].join('\n'), ...options },
  })
  if (status !== 201) throw new Error(text)
  // On a slow machine the leases of earlier tests have expired.
  await pool.pg.query('UPDATE contact_imports SET lease_until = now() + make_interval(hours => 1) WHERE id <> $1', [
    body.id,
  ])
  const owner = newId()
  const [row] = await claimImports(pool, { owner, seconds: 30 }, 1)
  return { ...row, owner, seconds: 30 } as Leased
}

const countsOf = async ({ id }: Leased) =>
  (
    await pool.pg.query(
      'SELECT created::int, skipped::int, merged_through::int, records::int FROM contact_imports WHERE id = $1',
      [id],
    )
  ).rows[0]

t.test('rows are merged while the rest of the file is staged', async t => {
  const leased = await lease('a')
  const progress = new StageProgress()
  const merging = mergeRows(pool, leased, signal, progress)
  await stageFile(services, leased, signal, progress)
  t.equal(await merging, 'done')
  t.strictSame(await countsOf(leased), {
    ...{ created: RECORDS - 1, skipped: 1, merged_through: RECORDS, records: RECORDS },
  })
  const { rows } = await pool.pg.query('SELECT n::int, message FROM import_errors WHERE import_id = $1', [leased.id])
  t.strictSame(rows, [{ n: RECORDS, message: 'The address is on line 2 already.' }])
})

/** Stages all rows of an import, to be merged later. */
async function stageAll(leased: Leased, records: number): Promise<void> {
  await stageFile(services, leased, signal, new StageProgress())
  await noteRecords(pool, leased, { records, error: null })
}

for (const [name, change] of [
  ['repeated addresses are found in rows that a worker of the release before has staged', 'repeated_n = NULL'],
  [
    'two addresses with the same hash are two contacts',
    'repeated_n = CASE WHEN n IN (2, 3) THEN 1 ELSE repeated_n END',
  ],
] as const) {
  t.test(name, async t => {
    const leased = await lease(newId(), 10)
    await stageAll(leased, 10)
    await pool.pg.query(`UPDATE import_rows SET ${change} WHERE import_id = $1`, [leased.id])
    t.equal(await mergeRows(pool, leased, signal, null), 'done')
    shows(t, await countsOf(leased), { created: 9, skipped: 1 })
    await runImport(services, leased, signal)
  })
}

t.test('a file is staged only a little ahead of the merge', async t => {
  const records = 40_000
  const leased = await lease('e', records)
  // As after a crash of Postgres that lost all staged rows: more rows are merged than are staged at first.
  await pool.pg.query('UPDATE contact_imports SET merged_through = $2, created = $2 WHERE id = $1', [
    leased.id,
    records - 2,
  ])
  await runImport(services, leased, signal)
  t.strictSame(await countsOf(leased), {
    ...{ created: records - 1, skipped: 1, merged_through: records, records },
  })

  const other = await lease('f', records)
  const stop = new AbortController()
  const progress = new StageProgress()
  const staging = stageFile(services, other, stop.signal, progress)
  const countStaged = async () =>
    (await pool.pg.query('SELECT count(*)::int AS n FROM import_rows WHERE import_id = $1', [other.id])).rows[0].n
  await waitUntil(async () => (await countStaged()) >= 30_000, 'rows are staged')
  await sleep(300)
  t.equal(await countStaged(), 35_000)
  stop.abort(new Error('stopped'))
  progress.stop()
  await t.rejects(staging, { message: 'stopped' })
})

t.test('repeated addresses are counted but not listed after 100,000 skipped records', async t => {
  const leased = await lease('cut', 10)
  await pool.pg.query('UPDATE contact_imports SET skipped = 100000 WHERE id = $1', [leased.id])
  await runImport(services, leased, signal)
  const { body } = await api.request('GET', `/api/contacts/imports/${leased.id}`)
  shows(t, body, { counts: { created: 9, skipped: 100_001 }, errors_cut: true, errors: [] })
})

t.test('slices stay merged when one after them does not get the lock of the contacts', async t => {
  const leased = await lease('g')
  await stageFile(services, leased, signal, new StageProgress())
  const merging = mergeSlices(pool, leased, { slice: 25, wait_ms: 100, within_ms: 60_000 })
  await waitUntil(async () => (await countsOf(leased)).merged_through > 0, 'a slice is merged')
  await pool.transaction(async tx => {
    await tx.run(sql.unsafe`SELECT lock_contacts(${leased.account_id}, ${leased.domain_id}, true, 60000)`)
    t.ok(isLockTimeout(await merging.catch(error => error)))
  })
  const { created, merged_through } = await countsOf(leased)
  t.equal(created, merged_through)
  t.ok(merged_through < RECORDS, `${merged_through} records`)
  await runImport(services, leased, signal)
  shows(t, await countsOf(leased), { created: RECORDS - 1, skipped: 1 })
})

t.test('an import waits for a topic that is being deleted, and stores no choices about it', async t => {
  const topic = (await api.request('POST', '/api/topics', { body: { name: 'News', default_subscription: 'opt_in' } }))
    .body
  const leased = await lease('j', 10, { topics: [{ id: topic.id, subscription: 'opt_out' }] })
  await stageAll(leased, 10)
  const deleting = await openTransaction(t, world)
  await deleting.query('DELETE FROM topics WHERE id = $1', [topic.id])
  const limits = { slice: 25, wait_ms: 100, within_ms: 0 }
  t.ok(isLockTimeout(await mergeSlices(pool, leased, limits).catch(error => error)))
  await deleting.commit()
  await runImport(services, { ...leased, records: 10 }, signal)
  shows(t, await countsOf(leased), { created: 9, skipped: 1 })
  const { rows } = await pool.pg.query('SELECT FROM contact_topics WHERE topic_id = $1', [topic.id])
  t.strictSame(rows, [])
})

t.test('mergeRows reports missing rows as unstaged', async t => {
  const leased = await lease('b')
  const progress = new StageProgress()
  await stageFile(services, leased, signal, progress)
  await pool.pg.query('DELETE FROM import_rows WHERE import_id = $1 AND n <= 3000', [leased.id])
  t.equal(await mergeRows(pool, leased, signal, progress), 'unstaged')
  t.strictSame(await countsOf(leased), { created: 0, skipped: 0, merged_through: 0, records: RECORDS })
  await clearStage(pool, leased)
  t.strictSame(await countsOf(leased), { created: 0, skipped: 0, merged_through: 0, records: null })
})

t.test('a worker that lost its lease neither stages nor merges, nor extends the lease of another', async t => {
  const leased = await lease('c')
  const leases = () => pool.pg.query('SELECT lease_owner, lease_until FROM contact_imports WHERE id = $1', [leased.id])
  const before = (await leases()).rows
  await extendImportLeases(pool, [leased], 3_600)
  const taken = { lease_owner: newId(), lease_until: (await leases()).rows[0].lease_until }
  t.ok(taken.lease_until > before[0].lease_until, 'its own it may extend')
  await pool.pg.query('UPDATE contact_imports SET lease_owner = $2 WHERE id = $1', [leased.id, taken.lease_owner])
  await extendImportLeases(pool, [leased], 7_200)
  t.strictSame((await leases()).rows, [taken])
  const progress = new StageProgress()
  await t.rejects(stageFile(services, leased, signal, progress), { message: /^another worker has taken over/ })
  await t.rejects(mergeRows(pool, leased, signal, progress), { message: /^another worker has taken over/ })
  await t.rejects(clearStage(pool, leased), { message: /^another worker has taken over/ })
})

t.test('an import that ends leaves the rows that another one has staged', async t => {
  await pool.pg.query('DELETE FROM contact_imports WHERE account_id = $1', [account.id]) // at most five may be open
  const [ended, other] = [await lease('e', 3), await lease('f', 3)]
  for (const leased of [ended, other]) await stageAll(leased, 3)
  await dropStage(pool, ended.id)
  const query = 'SELECT import_id, count(*)::int FROM import_rows WHERE import_id = ANY ($1) GROUP BY import_id'
  t.strictSame((await pool.pg.query(query, [[ended.id, other.id]])).rows, [{ import_id: other.id, count: 3 }])
})

t.test('an import fails if its file cannot be read', async t => {
  const leased = await lease('d')
  await t.rejects(runImport(services, { ...leased, blob_id: newId() }, signal), { message: /^there is no blob/ })
})

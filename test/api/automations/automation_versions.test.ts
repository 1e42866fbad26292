import t from 'tap'
import { clear_runs } from '#tasks/clear_runs.ts'
import { startApi } from '#test/support/api.ts'
import {
  addRuns,
  createAutomation,
  getAutomation,
  seriesOf,
  triggersOf,
  versionsOf,
} from '#test/support/automation_definitions.ts'
import { openTransaction, untilBlocked } from '#test/support/database/locks.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const work = openWork(t, world, 'capture')
const { pg } = world.pool

const get = (id: string) => getAutomation(api, id)
const patch = (id: string, body: object) => api.request('PATCH', `/api/automations/${id}`, { body })
const stop = (id: string) => api.request('POST', `/api/automations/${id}/stop`)
const [start, later] = seriesOf(account)
const short = { steps: [start, later], connections: [{ from: 'start', to: 'later' }] }
const ours = { domain_id: account.domain_id, event: 'user.signed_up' }
const whole = ['start', 'later', 'hello']

async function standingOf(id: string) {
  const { rows } = await pg.query('SELECT version, stopped_version FROM automations WHERE id = $1', [id])
  return [rows[0].version, rows[0].stopped_version]
}

async function statusesOf(id: string): Promise<string[]> {
  const { rows } = await pg.query('SELECT status FROM automation_runs WHERE automation_id = $1 ORDER BY id', [id])
  return rows.map(({ status }) => status)
}

async function clearings(): Promise<number> {
  const { rowCount } = await pg.query('SELECT FROM automation_clearings WHERE account_id = $1', [account.id])
  return rowCount as number
}

async function runsCleared(): Promise<void> {
  await clear_runs({}, work)
}

t.test('a trigger exists only while its automation is enabled', async t => {
  const id = await createAutomation(api, account, { status: 'enabled' })
  t.strictSame(await triggersOf(world, id), [ours])
  await patch(id, { trigger: 'paid' })
  t.strictSame(await triggersOf(world, id), [{ ...ours, event: 'paid' }])
  await patch(id, { status: 'disabled' })
  t.strictSame(await triggersOf(world, id), [])
  await patch(id, { trigger: 'user.signed_up' })
  t.strictSame(await triggersOf(world, id), [])
  await patch(id, { status: 'enabled' })
  t.strictSame(await triggersOf(world, id), [ours])
})

t.test('a changed graph makes a new version, an unchanged one does not', async t => {
  const id = await createAutomation(api, account, { status: 'enabled' })
  const { steps, connections } = await get(id)
  for (const body of [
    { name: 'A' },
    { reentry: 'once' },
    { steps, connections },
    { connections },
    { trigger: ours.event },
  ]) {
    t.equal((await patch(id, body)).status, 200)
  }
  t.strictSame(await versionsOf(world, id), [{ version: 1, keys: whole }])
  await patch(id, short)
  t.strictSame(await versionsOf(world, id), [
    { version: 1, keys: whole },
    { version: 2, keys: ['start', 'later'] },
  ])
  const after = await get(id)
  t.strictSame([after.version, after.steps[1]?.id], [2, steps[1]?.id])
})

t.test('versions of a draft without runs are deleted', async t => {
  const id = await createAutomation(api, account)
  await patch(id, short)
  t.strictSame(await versionsOf(world, id), [{ version: 2, keys: ['start', 'later'] }])
  await addRuns(world, account, id, [{ version: 2 }])
  await patch(id, { trigger: 'paid' })
  t.strictSame(
    (await versionsOf(world, id)).map(({ version }) => version),
    [2, 3],
  )
})

t.test('a disabled automation lets its runs go on', async t => {
  const id = await createAutomation(api, account, { status: 'enabled' })
  await addRuns(world, account, id, [{}])
  await patch(id, { status: 'disabled' })
  await runsCleared()
  t.strictSame(await statusesOf(id), ['running'])
  t.strictSame(await standingOf(id), [1, 0])
})

t.test('POST /automations/:id/stop ends the runs that exist at its commit', async t => {
  const id = await createAutomation(api, account, { status: 'enabled' })
  const [waiting] = await addRuns(world, account, id, [{}, {}, { status: 'completed' }, { status: 'failed' }])
  await pg.query(
    `INSERT INTO automation_run_steps (account_id, run_id, seq, step, status) VALUES ($1, $2, 1, 1, 'waiting')`,
    [...[account.id, waiting]],
  )
  const { status, body } = await stop(id)
  t.strictSame([status, body], [200, { object: 'automation', id, status: 'disabled' }])
  // A worker reads this, and takes no step of a run of version 1.
  t.strictSame(await standingOf(id), [2, 1])
  t.strictSame(await triggersOf(world, id), [])
  await patch(id, { status: 'enabled' })
  await addRuns(world, account, id, [{ version: 2 }])
  await runsCleared()
  t.strictSame(await statusesOf(id), ['skipped', 'skipped', 'completed', 'failed', 'running'])
  const { body: run } = await api.request('GET', `/api/automations/${id}/runs/${waiting}`)
  shows(t, run, {
    ...{ status: 'skipped', error: 'The automation was stopped.', completed_at: String },
    steps: [
      { key: 'start', type: 'trigger', status: 'completed' },
      { key: 'later', status: 'skipped', error: { message: 'The automation was stopped.' }, completed_at: String },
    ],
  })
  t.equal(await clearings(), 0)
})

t.test('stopping an automation without runs makes no version', async t => {
  const id = await createAutomation(api, account, { status: 'enabled' })
  await stop(id)
  await stop(id)
  shows(t, await get(id), { status: 'disabled', version: 1 })
  t.equal(await clearings(), 0)
})

t.test('stopping an automation whose runs have ended stops their mail, once', async t => {
  const id = await createAutomation(api, account, { status: 'enabled' })
  await addRuns(world, account, id, [{ status: 'completed' }])
  for (let n = 0; n < 2; n++) {
    await stop(id)
    // A worker reads this, and sends no mail of version 1.
    t.strictSame(await standingOf(id), [2, 1])
  }
  await runsCleared()
  t.strictSame(await statusesOf(id), ['completed'])
})

t.test('stop waits for a worker that takes steps', async t => {
  const id = await createAutomation(api, account, { status: 'enabled' })
  await addRuns(world, account, id, [{}])
  const worker = await openTransaction(t, world)
  await worker.query('SELECT FROM automations WHERE id = $1 FOR KEY SHARE', [id])
  const stopped = stop(id)
  await untilBlocked(world, '%FROM automations%FOR UPDATE%')
  t.strictSame(await standingOf(id), [1, 0])
  await worker.commit()
  shows(t, await stopped, { status: 200 })
  t.strictSame(await standingOf(id), [2, 1])
})

t.test('runs locked by a worker are ended later', async t => {
  const id = await createAutomation(api, account, { status: 'enabled' })
  const [held] = await addRuns(world, account, id, [{}, {}])
  await stop(id)
  const worker = await openTransaction(t, world)
  await worker.query('SELECT FROM automation_runs WHERE id = $1 FOR UPDATE', [held])
  await runsCleared()
  t.strictSame(await statusesOf(id), ['running', 'skipped'])
  await worker.commit()
  await pg.query('UPDATE automation_clearings SET next_at = now() WHERE automation_id = $1', [id])
  await runsCleared()
  t.strictSame(await statusesOf(id), ['skipped', 'skipped'])
})

t.test('stop and DELETE clear more runs than one slice', async t => {
  const id = await createAutomation(api, account, { status: 'enabled' })
  const runs = Array.from({ length: 5_001 }, () => ({}))
  const ids = await addRuns(world, account, id, runs)
  await pg.query(
    `INSERT INTO automation_run_steps (account_id, run_id, seq, step, status) SELECT $1, id, 1, 0, 'completed' FROM unnest($2::uuid[]) AS id`,
    [account.id, ids],
  )
  await stop(id)
  await runsCleared()
  t.strictSame([...new Set(await statusesOf(id))], ['skipped'])
  await api.request('DELETE', `/api/automations/${id}`)
  await runsCleared()
  t.strictSame(await statusesOf(id), [])
  t.equal(await clearings(), 0)
})

t.test('DELETE ends the runs of an automation at once', async t => {
  const id = await createAutomation(api, account, { status: 'enabled' })
  const [run] = await addRuns(world, account, id, [{}])
  await api.request('DELETE', `/api/automations/${id}`)
  const { rows } = await pg.query(
    `SELECT FROM automation_runs r JOIN automations a ON a.account_id = r.account_id AND a.id = r.automation_id WHERE r.id = $1`,
    [run],
  )
  t.strictSame(rows, [])
  await runsCleared()
  t.strictSame(await statusesOf(id), [])
})

t.test('DELETE /domains/:id deletes automations only with `with_contacts=true`', async t => {
  const mine = await newAccount(world)
  const id = await createAutomation(api, mine, { status: 'enabled' })
  await addRuns(world, mine, id, [{}])
  const remove = (query = '') => api.request('DELETE', `/api/domains/${mine.domain_id}${query}`, { key: mine.key })
  shows(t, await remove(), {
    ...{
      status: 422,
      body: { message: 'The domain has automations: add `?with_contacts=true` to delete them with it.' },
    },
  })
  t.equal((await remove('?with_contacts=true')).status, 200)
  t.equal((await api.request('GET', `/api/automations/${id}`, { key: mine.key })).status, 404)
  await runsCleared()
  t.strictSame(await statusesOf(id), [])
})

t.test('a contact whose run was stopped enters again before a job has ended the run', async t => {
  const id = await createAutomation(api, account, { status: 'enabled', reentry: 'while_not_running' })
  const enter = async () => (await api.request('POST', `/api/automations/${id}/run`, { body: { email } })).status
  const email = 'again@b.com'
  await api.request('POST', '/api/contacts', { body: { email, domain: account.domain } })
  t.strictSame([await enter(), await enter()], [202, 422])
  await stop(id)
  await patch(id, { status: 'enabled' })
  t.strictSame([await enter(), await enter()], [202, 422])
  t.strictSame(await statusesOf(id), ['skipped', 'running'])
})

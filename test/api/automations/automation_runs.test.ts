import t from 'tap'
import { newId } from '#lib/ids.ts'
import { startApi } from '#test/support/api.ts'
import { addRuns, createAutomation, getAutomation } from '#test/support/automation_definitions.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const id = await createAutomation(api, account, { status: 'enabled' })
const statuses = ['running', 'completed', 'failed', 'skipped', 'running', 'completed'] as const
const runs = await addRuns(
  world,
  account,
  id,
  statuses.map(status => ({ status })),
)
const newest = [...runs].reverse()
const another = await createAutomation(api, account)
const [foreign] = await addRuns(world, account, another, [{}])

const list = async (query = '') => JSON.parse((await api.request('GET', `/api/automations/${id}/runs${query}`)).text)
const idsOf = async (query: string) => (await list(query)).data.map((run: { id: string }) => run.id)

t.test('GET /automations/:id/runs lists runs, newest first', async t => {
  const { object, has_more, data } = await list()
  t.strictSame([object, has_more, data.map((run: { id: string }) => run.id)], ['list', false, newest])
  shows(t, data[1], {
    ...{ object: 'automation_run', id: newest[1], automation_id: id, version: 1, contact_id: String },
    ...{ contact_email: 'ann@b.com', status: 'running', error: null, started_at: String, completed_at: null },
    created_at: String,
  })
  t.type(data[0].completed_at, 'string')
})

t.test('GET /automations/:id/runs filters by status', async t => {
  const withStatus = (...wanted: string[]) =>
    newest.filter((_, n) => wanted.includes(statuses.toReversed()[n] as string))
  for (const wanted of [['running'], ['completed', 'failed'], ['running', 'completed', 'failed', 'skipped']]) {
    t.strictSame(await idsOf(`?status=${wanted.join(',')}`), withStatus(...wanted))
  }
  t.strictSame(await idsOf('?status=failed,%20failed'), withStatus('failed'))
  shows(t, await list('?status=done'), {
    ...{ statusCode: 422, name: 'validation_error' },
    message: '`status` must be `running`, `completed`, `failed` or `skipped`, or several with commas between.',
  })
})

t.test('GET /automations/:id/runs returns runs in pages', async t => {
  t.strictSame(await list('?limit=2').then(({ has_more, data }) => [has_more, data.length]), [true, 2])
  t.strictSame(await idsOf(`?limit=2&after=${newest[1]}`), newest.slice(2, 4))
  t.strictSame(await idsOf(`?limit=2&before=${newest[4]}`), newest.slice(2, 4))
  t.strictSame(await idsOf(`?status=running,completed&limit=1&after=${newest[1]}`), [newest[4]])
  const empty = { object: 'list', has_more: false, data: [] }
  for (const cursor of [newId(), foreign]) {
    t.strictSame(await list(`?after=${cursor}`), empty)
    t.strictSame(await list(`?before=${cursor}`), empty)
  }
  for (const query of ['?limit=101', '?limit=x', `?after=${newest[0]}&before=${newest[1]}`, '?after=x']) {
    t.equal((await list(query)).name, 'validation_error')
  }
})

t.test('GET /automations/:id counts its runs', async t => {
  t.strictSame((await getAutomation(api, id)).runs, { running: 2, completed: 2, failed: 1, skipped: 1 })
})

const trigger = { key: 'start', type: 'trigger', status: 'completed' }

t.test('GET /automations/:id/runs/:run_id shows the steps of a run', async t => {
  const run_id = runs[2] as string
  await world.pool.pg.query(
    `INSERT INTO automation_run_steps (account_id, run_id, seq, step, status, output, error, completed_at) VALUES
       ($1, $2, 1, 1, 'completed', '{"until":"x"}', NULL, now()), ($1, $2, 2, 2, 'failed', NULL, 'It broke.', now())`,
    [account.id, run_id],
  )
  // The run keeps the steps of its version.
  const steps = [
    { key: 'only', type: 'trigger', config: { event_name: 'x' } },
    { key: 'end', type: 'contact_delete' },
  ]
  await api.request('PATCH', `/api/automations/${id}`, { body: { steps, connections: [{ from: 'only', to: 'end' }] } })
  const { text } = await api.request('GET', `/api/automations/${id}/runs/${run_id}`)
  const body = JSON.parse(text)
  shows(t, body, {
    ...{ id: run_id, status: 'failed' },
    steps: [
      { ...trigger, output: null, error: null, started_at: body.started_at, completed_at: body.started_at },
      { key: 'later', type: 'delay', status: 'completed', output: { until: 'x' }, error: null, completed_at: String },
      { key: 'hello', type: 'send_email', status: 'failed', error: { message: 'It broke.' }, created_at: String },
    ],
  })
  for (const other of [foreign, newId(), 'x']) {
    const { status, body } = await api.request('GET', `/api/automations/${id}/runs/${other}`)
    t.strictSame([status, body.message], [404, 'Run not found'])
  }
})

t.test('a skipped run and its skipped steps say why', async t => {
  const id = await createAutomation(api, account, { status: 'enabled' })
  const ends = [{ status: 'skipped' }, { status: 'skipped' }, { status: 'completed' }] as const
  const [unsent, ended, done] = await addRuns(world, account, id, [...ends])
  await world.pool.pg.query(
    `INSERT INTO automation_run_steps (account_id, run_id, seq, step, status, output, error, completed_at) VALUES
       ($1, $2, 1, 2, 'skipped', '{"reason":"suppressed"}', NULL, now()),
       ($1, $2, 2, 2, 'skipped', '{"reason":"unsubscribed"}', NULL, now()),
       ($1, $3, 1, 2, 'skipped', NULL, 'rate_limit_exceeded: Later.', now()),
       ($1, $4, 1, 2, 'skipped', '{"reason":"unsubscribed"}', NULL, now()), ($1, $4, 2, 2, 'completed', NULL, NULL, now())`,
    [account.id, unsent, ended, done],
  )
  await world.pool.pg.query(`UPDATE automation_runs SET error = 'The contact was deleted.' WHERE id = $1`, [ended])
  const listed = (await api.request('GET', `/api/automations/${id}/runs`)).body
  shows(t, listed.data, [
    { id: done, error: null },
    { id: ended, error: 'The contact was deleted.' },
    { id: unsent, error: 'unsubscribed' },
  ])
  for (const [run_id, error, whys] of [
    [unsent, 'unsubscribed', ['suppressed', 'unsubscribed']],
    [ended, 'The contact was deleted.', ['The contact was deleted.']],
    [done, null, ['unsubscribed', null]],
  ] as const) {
    const { body } = await api.request('GET', `/api/automations/${id}/runs/${run_id}`)
    const steps = whys.map(message => ({ key: 'hello', error: message && { message } }))
    shows(t, body, { error, steps: [trigger, ...steps] })
  }
})

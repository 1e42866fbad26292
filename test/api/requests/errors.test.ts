import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type ErrorName, statusOf } from '#lib/errors.ts'
import { sql } from '#sql/pool.ts'
import { type RequestOptions, startApi } from '#test/support/api.ts'
import { untilBlocked } from '#test/support/database/locks.ts'
import { ROOT } from '#test/support/root.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const email = { from: `ann@${account.domain}`, to: ['bob@b.com'], subject: 'Hi' }

/** Names of errors by their status, which clients rely on. */
const promised: Record<number, string> = {
  400: 'invalid_idempotency_key',
  401: 'missing_api_key restricted_api_key',
  402: 'plan_limit_reached',
  403: 'invalid_api_key dashboard_only view_only_member reputation_paused',
  404: 'not_found',
  409: 'invalid_idempotent_request concurrent_idempotent_requests domain_conflict',
  422: `invalid_attachment validation_error invalid_from_address invalid_to_address missing_required_field
    reserved_recipient`,
  429: `daily_quota_exceeded monthly_quota_exceeded contact_limit_reached ai_credits_exceeded
    automation_quota_exceeded rate_limit_exceeded reputation_limit_exceeded`,
  500: 'application_error internal_server_error',
  503: `contacts_busy contacts_timeout batch_incomplete sending_service_unavailable
    sending_configuration_unavailable`,
}

t.test('each error name has its status, and there are no others', async t => {
  const named = Object.entries(promised).flatMap(([status, names]) =>
    names.split(/\s+/).map(name => [name, Number(status)]),
  )
  t.same(statusOf, Object.fromEntries(named))
})

type Case = {
  name: ErrorName
  status?: number
  request: [method: string, path: string, options?: RequestOptions]
  headers?: Record<string, string>
  /** SQL to run before the request, and SQL that undoes it. */
  during?: [string, string]
}

const send = (options: RequestOptions): Case['request'] => ['POST', '/api/emails', options]
const refuseEmails = `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN RAISE 'no space' USING ERRCODE = '53100'; END $$;
  CREATE TRIGGER refuse BEFORE INSERT ON emails EXECUTE FUNCTION refuse()`

const cases: Case[] = [
  { name: 'invalid_idempotency_key', request: send({ body: email, headers: { 'idempotency-key': '' } }) },
  { name: 'missing_api_key', request: send({ key: null, body: email }) },
  { name: 'restricted_api_key', request: ['GET', '/api/emails', { key: account.sending_key }] },
  { name: 'invalid_api_key', request: ['GET', '/api/emails', { key: 'mb_nonsense' }] },
  { name: 'dashboard_only', request: ['POST', '/api/api-keys', { body: { name: 'mine' } }] },
  { name: 'not_found', request: ['GET', '/api/nothing'] },
  { name: 'not_found', request: ['DELETE', '/api/emails'] },
  { name: 'not_found', request: ['GET', '/api/emails/01890000-0000-7000-8000-000000000000'] },
  { name: 'not_found', request: ['GET', '/api/emails/not-an-id'] },
  { name: 'not_found', request: ['GET', '/nothing', { key: null }] },
  { name: 'validation_error', request: send({ raw: '{' }) },
  { name: 'validation_error', request: send({ body: { ...email, from: 'ann@not-mine.com' } }) },
  { name: 'validation_error', request: send({ body: { ...email, to: ['x@example.com'] } }) },
  { name: 'validation_error', request: ['GET', '/api/emails?limit=0'] },
  { name: 'validation_error', status: 403, request: ['GET', '/api/emails', { headers: { 'user-agent': '' } }] },
  { name: 'missing_required_field', request: send({ body: { from: email.from, subject: 'Hi' } }) },
  { name: 'invalid_from_address', request: send({ body: { ...email, from: 'ann' } }) },
  { name: 'invalid_attachment', request: send({ body: { ...email, attachments: [{ filename: 'x' }] } }) },
  { name: 'invalid_to_address', request: send({ body: { ...email, to: ['bob'] } }) },
  {
    name: 'sending_service_unavailable',
    request: send({ body: email }),
    headers: { 'retry-after': '5' },
    during: [refuseEmails, 'DROP FUNCTION refuse CASCADE'],
  },
  {
    name: 'internal_server_error',
    request: ['GET', '/api/emails'],
    during: ['ALTER TABLE emails RENAME TO gone', 'ALTER TABLE gone RENAME TO emails'],
  },
]

for (const { name, status = statusOf[name], request, headers = {}, during } of cases) {
  t.test(`${request[0]} ${request[1]} fails as ${status} ${name}`, async t => {
    if (during) await world.pool.pg.query(during[0])
    const answer = await api.request(...request)
    if (during) await world.pool.pg.query(during[1])

    t.equal(answer.status, status)
    t.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
    t.strictSame(Object.keys(answer.body), ['statusCode', 'name', 'message'])
    t.match(answer.body, { statusCode: status, name, message: /\w/ })
    for (const [header, value] of Object.entries(headers)) t.equal(answer.headers.get(header), value)
  })
}

t.test('an idempotency key in use and one with another payload respond 409', async t => {
  const headers = { 'idempotency-key': 'one' }
  const [first, second] = await world.pool.transaction(async tx => {
    await tx.run(sql.unsafe`LOCK TABLE emails`)
    const first = api.request(...send({ body: email, headers }))
    await untilBlocked(world)
    return [first, await api.request(...send({ body: email, headers }))]
  })

  t.match(second, { status: 409, body: { statusCode: 409, name: 'concurrent_idempotent_requests' } })
  t.equal(second.headers.get('retry-after'), '1')
  t.equal((await first).status, 200)

  const other = await api.request(...send({ body: { ...email, subject: 'Hello' }, headers }))
  t.match(other, { status: 409, body: { statusCode: 409, name: 'invalid_idempotent_request' } })
})

/** Names that clients may know but that nothing throws. */
const UNUSED = ['reserved_recipient', 'contact_limit_reached', 'ai_credits_exceeded', 'application_error']

t.test('every error name that is thrown is tested here or by another test of the API', async t => {
  const shown = new Set<string>(cases.map(({ name }) => name))
  for (const name of ['invalid_idempotent_request', 'concurrent_idempotent_requests']) shown.add(name)
  const read = (pattern: string) =>
    globSync(pattern, { cwd: ROOT })
      .filter(file => !file.endsWith('requests/errors.test.ts'))
      .map(file => readFileSync(join(ROOT, file), 'utf8'))
      .join('\n')
  const tests = read('test/{api,tasks}/**/*.test.ts')
  const sources = read('{api,flows,lib,sql,tasks,web,workers}/**/*.ts')
  const names = Object.keys(statusOf)
  t.strictSame(
    names.filter(name => !shown.has(name) && !tests.includes(`'${name}'`)),
    UNUSED,
  )
  t.strictSame(
    UNUSED.filter(name => sources.includes(`ApiError('${name}'`)),
    [],
  )
})

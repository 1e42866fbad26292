import t from 'tap'
import type { DomainClaim } from '#sql/domains/domain_claims.ts'
import { sql } from '#sql/pool.ts'
import { startApi } from '#test/support/api.ts'
import { createAutomation } from '#test/support/automation_definitions.ts'
import { begin, openTransaction, untilBlocked } from '#test/support/database/locks.ts'
import { newMember, sessionOf } from '#test/support/members.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)

t.test('additions to a domain that is being deleted are refused', async t => {
  const api = await startApi(t, world, '')
  const steps = [{ key: 'trigger', type: 'trigger', config: { event_name: 'x' } }]
  const cases: [path: string, fields: object, message: string][] = [
    ['api-keys', { permission: 'sending_access' }, 'Domain not found'],
    ['audiences', {}, 'Domain not found'],
    ['segments', {}, 'Domain not found'],
    ['topics', { default_subscription: 'opt_in' }, 'Domain not found'],
    ['contacts', { email: 'a@b.com' }, 'Domain not found'],
    ['automations', { steps, connections: [] }, 'The domain was deleted.'],
  ]
  for (const [path, fields, message] of cases) {
    const { id, domain, domain_id } = await newAccount(world)
    const cookie = `mailbrook=${await sessionOf(world, (await newMember(world, id, 'owner')).id)}`
    const deletion = await begin(world, tx => tx.run(sql.unsafe`DELETE FROM domains WHERE id = ${domain_id}`))
    const body = { ...fields, name: 'x', ...(path === 'api-keys' ? { domain_id } : { domain }) }
    const headers = { cookie, 'sec-fetch-site': 'same-origin' }
    const answer = api.request('POST', `/api/${path}`, { key: null, headers, body })
    await untilBlocked(world)
    await deletion.commit()
    shows(t, await answer, { body: { message } }, path)
  }
})

t.test('a claim by a domain that is being deleted is refused', async t => {
  const [owner, claimant] = [await newAccount(world), await newAccount(world)]
  const api = await startApi(t, world, claimant.key)
  const claim = () => api.request('POST', '/api/domains/claim', { body: { name: owner.domain } })
  const { domain_id } = (await claim()).body as unknown as DomainClaim
  await world.pool.pg.query('DELETE FROM domain_claims WHERE domain_id = $1', [domain_id])
  const deletion = await begin(world, tx => tx.run(sql.unsafe`DELETE FROM domains WHERE id = ${domain_id}`))
  const answer = claim()
  await untilBlocked(world, '%domain_claims%')
  await deletion.commit()
  shows(t, await answer, { status: 404, body: { message: 'Domain not found' } })
})

t.test('a domain is deleted with an automation whose runs take a step, without a deadlock', async t => {
  const account = await newAccount(world)
  const api = await startApi(t, world, account.key)
  const named = [account.id, await createAutomation(api, account)]
  // A worker locks the automation, and then the domain of the email that it sends.
  const worker = await openTransaction(t, world)
  await worker.query('SELECT FROM automations WHERE account_id = $1 AND id = $2 FOR KEY SHARE', named)
  const answer = api.request('DELETE', `/api/domains/${account.domain_id}?with_contacts=true`)
  await untilBlocked(world, '%FROM automations%')
  await worker.query(`SET LOCAL lock_timeout = '200ms'`) // Postgres looks for deadlocks after a second
  await worker.query('SELECT FROM domains WHERE id = $1 FOR KEY SHARE', [account.domain_id])
  await worker.commit()
  shows(t, await answer, { status: 200, body: { deleted: true } })
  t.equal((await world.pool.pg.query('SELECT FROM automations WHERE account_id = $1 AND id = $2', named)).rowCount, 0)
})

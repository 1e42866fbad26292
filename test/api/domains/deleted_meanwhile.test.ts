import t from 'tap'
import { sql } from '#sql/pool.ts'
import { startApi } from '#test/support/api.ts'
import { begin, untilBlocked } from '#test/support/database/locks.ts'
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

import t from 'tap'
import type { PresentedDomain } from '../../flows/find_domain.ts'
import { verify_domain } from '../../tasks/verify_domain.ts'
import { startApi } from '../api.ts'
import { publish } from '../dns.ts'
import { startZone } from '../name_server.ts'
import { openWork } from '../sending.ts'
import { newAccount, openWorld } from '../world.ts'

const { server, zone } = await startZone(t)
const world = await openWorld(t, { DNS_SERVERS: server, SERVER_DOMAIN: 'mail.server.com' })
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const work = openWork(t, world)

t.test('a domain is added, published, verified, and sends', async t => {
  const added = await api.request('POST', '/api/domains', { body: { name: 'Bücher.com' } })
  t.match(added, { status: 201, body: { object: 'domain', name: 'xn--bcher-kva.com', status: 'not_started' } })
  const { id } = added.body
  const send = () =>
    api.request('POST', '/api/emails', { body: { from: 'me@bücher.com', to: ['x@y.com'], subject: 'Hello' } })
  t.match(await send(), { status: 422, body: { name: 'validation_error' } })

  publish(zone, added.body as unknown as PresentedDomain)
  const asked = await api.request('POST', `/api/domains/${id}/verify`)
  t.match(asked, { status: 200, body: { object: 'domain', id, status: 'pending' } })
  await verify_domain({ account_id: account.id, domain_id: id }, work)

  const verified = await api.request('GET', `/api/domains/${id}`)
  t.match(verified, { status: 200, body: { status: 'verified' } })
  const { records } = verified.body as unknown as PresentedDomain
  t.strictSame(new Set(records.map(record => record.status)), new Set(['verified']))
  t.match(await send(), { status: 200 })
})

import t from 'tap'
import { v7 as uuid } from 'uuid'
import { createApiKey } from '#flows/accounts/create_api_key.ts'
import { DomainStatus } from '#lib/domains/domain_status.ts'
import { startApi } from '#test/support/api.ts'
import { addDomain, newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)

const send = (from: string, key = account.key) =>
  api.request('POST', '/api/emails', { key, body: { from, to: 'bob@b.com', subject: 'Hi' } })

let domains = 0

t.test('an API key of one domain cannot send from another', async t => {
  const { domain: second, id } = await addSecond('verified')
  const party = { account_id: account.id, domain_id: id, expires_at: null }
  const key = await createApiKey(world.pool, world.secrets, { ...party, name: 'one', permission: 'sending_access' })

  t.match(await send(`ann@${second}`, key), { status: 200 })
  const message = `This API key may not send from the ${account.domain} domain.`
  t.match((await send(`ann@${account.domain}`, key)).body, { statusCode: 422, name: 'validation_error', message })
})

t.test('only `verified` and `partially_*` domains can send, under their exact name', async t => {
  for (const status of DomainStatus.options) {
    const { domain } = await addSecond(status)
    const expected = /verified|partially/.test(status) ? 200 : 422
    t.match(await send(`ann@${domain.toUpperCase()}`), { status: expected }, status)
    t.match(await send(`ann@mail.${domain}`), { status: 422 })
    t.match(await send(`ann@${domain}.com`), { status: 422 })
  }
})

t.test('a domain with `sending` disabled cannot send', async t => {
  const { domain, id } = await addSecond('verified')
  await world.pool.pg.query('UPDATE domains SET sending = false, receiving = true WHERE id = $1', [id])
  t.match(await send(`ann@${domain}`), { status: 422 })
})

async function addSecond(status: DomainStatus): Promise<{ domain: string; id: string }> {
  const domain = { account_id: account.id, id: uuid(), name: `second${++domains}.${account.domain}`, status }
  await addDomain(world.pool, world.secrets, domain)
  return { domain: domain.name, id: domain.id }
}

t.test('the error of a domain that cannot send says why', async t => {
  const sender = await newAccount(world)
  const foreign = await newAccount(world)
  const send = async (domain: string) => {
    const body = { from: `a@${domain}`, to: 'b@b.com', subject: 'Hi' }
    const single = await api.request('POST', '/api/emails', { key: sender.key, body })
    const batch = await api.request('POST', '/api/emails/batch', { key: sender.key, body: [body] })
    t.equal(batch.body.message, `emails[0]: ${single.body.message}`)
    t.same([single.status, single.body.name], [422, 'validation_error'])
    return single.body.message
  }
  const change = (set: string) => world.pool.pg.query(`UPDATE domains SET ${set} WHERE id = $1`, [sender.domain_id])

  const unknown = 'domain is not verified: it is not one of your domains. Add it, then verify it.'
  t.equal(await send('nobody-has-this.com'), `The nobody-has-this.com ${unknown}`)
  t.equal(await send(foreign.domain), `The ${foreign.domain} ${unknown}`)
  for (const status of ['not_started', 'pending', 'failed']) {
    await change(`status = '${status}'`)
    const message = `The ${sender.domain} domain is not verified: its status is \`${status}\`. Publish its DNS records, then verify it.`
    t.equal(await send(sender.domain), message)
  }
  await change(`status = 'verified', sending = false, receiving = true`)
  t.equal(
    await send(sender.domain),
    `The ${sender.domain} domain may not send: its \`capabilities.sending\` is \`disabled\`.`,
  )
})

import t from 'tap'
import { type Party, pauseParty, resumeParty } from '#sql/safety/pauses.ts'
import { pausePlatform, resumePlatform, setTransportFault } from '#sql/safety/platform.ts'
import { startApi } from '#test/support/api.ts'
import { choosePlan, makeDue } from '#test/support/database/states.ts'
import { acceptEmail, deliverEmails, openWork, readEmail } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const { pool } = world
const account = await newAccount(world)
const other = await newAccount(world)
const api = await startApi(t, world, account.key)
const query = (text: string, values: unknown[] = []) => pool.pg.query(text, values).then(result => result.rows)
const body = { from: `a@${account.domain}`, to: 'b@b.com', subject: 'Hi' }
const whole = { account_id: account.id, domain_id: null }
const domain = { account_id: account.id, domain_id: account.domain_id }
const pause = { paused_by: 'operator', reason: 'We look into it.' } as const
const resume = (party: Party) => pool.transaction(tx => resumeParty(tx, party))

/** Counts the rows of an account that a send would add. */
async function countRows(id: string): Promise<unknown> {
  const tables = ['emails', 'deliveries', 'idempotency_keys', 'batches', 'usage_minutes']
  const counts = tables.map(table => `(SELECT count(*)::int FROM ${table} WHERE account_id = $1) AS ${table}`)
  return query(`SELECT ${counts.join()}`, [id])
}

type Switch = { what: string; on(): Promise<unknown>; off(): Promise<unknown>; answer: [number, string, string | null] }

const switches: Switch[] = [
  {
    what: 'a paused platform',
    on: () => pausePlatform(pool, 'We look into it.'),
    off: () => resumePlatform(pool),
    answer: [503, 'sending_service_unavailable', '30'],
  },
  {
    what: 'a paused account',
    on: () => pauseParty(pool, whole, pause),
    off: () => resume(whole),
    answer: [403, 'reputation_paused', null],
  },
  {
    what: 'a paused domain',
    on: () => pauseParty(pool, domain, pause),
    off: () => resume(domain),
    answer: [403, 'reputation_paused', null],
  },
  {
    what: 'a transport that cannot work',
    on: () => setTransportFault(pool, 'Invalid login'),
    off: () => setTransportFault(pool, null),
    answer: [503, 'sending_configuration_unavailable', '30'],
  },
  {
    what: 'a signing key that cannot be used',
    on: () => query('UPDATE dkim_keys SET unusable_at = now() WHERE account_id = $1', [account.id]),
    off: () => query('UPDATE dkim_keys SET unusable_at = NULL WHERE account_id = $1', [account.id]),
    answer: [503, 'sending_configuration_unavailable', '30'],
  },
]

for (const { what, on, off, answer } of switches) {
  const [status, name, retry_after] = answer

  t.test(`${what} refuses sends with ${status} ${name} and stores nothing`, async t => {
    await choosePlan(world, account, 'free') // unlimited plans are not counted
    const bound = { 'idempotency-key': `bound before ${what}` }
    const unbound = { 'idempotency-key': `bound after ${what}` }
    const first = await api.request('POST', '/api/emails', { body, headers: bound })
    const before = await countRows(account.id)
    await on()
    t.teardown(off)

    for (const [path, sent] of [
      ['/api/emails', body],
      ['/api/emails/batch', [body, body]],
    ] as const) {
      for (const mode of ['strict', 'permissive']) {
        const headers = { ...unbound, 'x-batch-validation': mode }
        const refused = await api.request('POST', path, { body: sent, headers })
        t.match(refused, { status, body: { statusCode: status, name } }, `${path} ${mode}`)
        t.equal(refused.headers.get('retry-after'), retry_after)
      }
    }
    t.strictSame(await countRows(account.id), before)
    const replayed = await api.request('POST', '/api/emails', { body, headers: bound })
    t.match(replayed, { status: 200, text: first.text }, 'replays are returned all the same')

    await off()
    t.match(await api.request('POST', '/api/emails', { body, headers: unbound }), { status: 200 }, 'the key is free')
  })
}

t.test('other accounts can send while an account is paused', async t => {
  await pauseParty(pool, whole, pause)
  t.teardown(() => resume(whole))
  const elsewhere = { ...body, from: `a@${other.domain}` }
  t.match(await api.request('POST', '/api/emails', { body: elsewhere, key: other.key }), { status: 200 })
})

t.test('an invalid email is refused with 422 even while the platform is paused', async t => {
  await pausePlatform(pool, null)
  t.teardown(() => resumePlatform(pool))
  const none = { ...body, to: 'x@example.com' }
  t.match(await api.request('POST', '/api/emails', { body: none }), { status: 422 })
})

t.test('a domain can send with any signing key, but not without one', async t => {
  const { id, domain_id, domain, key } = await newAccount(world)
  const send = () => api.request('POST', '/api/emails', { body: { ...body, from: `a@${domain}` }, key })
  const copy = `INSERT INTO dkim_keys (account_id, id, domain_id, selector, algorithm, public_key, private_key)
    SELECT account_id, gen_random_uuid(), domain_id, 'mb2', algorithm, public_key, private_key FROM dkim_keys WHERE domain_id = $1`
  await query(copy, [domain_id])
  await query(`DELETE FROM dkim_keys WHERE account_id = $1 AND selector = 'mb1'`, [id])
  t.match(await send(), { status: 200 })
  await query('DELETE FROM dkim_keys WHERE account_id = $1', [id])
  t.match(await send(), { status: 503, body: { name: 'sending_configuration_unavailable' } })
})

t.test('a fault that no worker reported for a minute is ignored', async t => {
  await query(`UPDATE platform SET transport_fault = 'x', transport_fault_at = now() - interval '61 seconds'`)
  await query(`UPDATE dkim_keys SET unusable_at = now() - interval '61 seconds' WHERE account_id = $1`, [account.id])
  t.match(await api.request('POST', '/api/emails', { body }), { status: 200 })
})

t.test('an unusable signing key makes mail wait and refuses new sends', async t => {
  const account = await newAccount(world)
  const work = openWork(t, world, 'capture')
  const accept = () => acceptEmail(world, account)
  const deliver = async (id: string) => {
    await makeDue(world, id)
    await deliverEmails(work, [id])
    return readEmail(world, account, id)
  }
  const id = await accept()
  const [{ private_key }] = await query('SELECT private_key FROM dkim_keys WHERE account_id = $1', [account.id])
  const store = (key: Buffer) => query('UPDATE dkim_keys SET private_key = $2 WHERE account_id = $1', [account.id, key])

  await store(Buffer.from('something else'))
  const reason = 'The signing key of its domain cannot be used.'
  shows(t, await deliver(id), { status: 'queued', queue: [{ state: 'queued', attempts: 0, reason }] })
  await t.rejects(accept(), { name: 'sending_configuration_unavailable' })
  await store(private_key)
  shows(t, await deliver(id), { status: 'delivered' })
  shows(t, await deliver(await accept()), { status: 'delivered' })
})

t.test('the error of a pause gives its reason and who can end it', async t => {
  const sender = await newAccount(world)
  const message = async () => {
    const email = { from: `a@${sender.domain}`, to: 'b@b.com', subject: 'Hi' }
    return (await api.request('POST', '/api/emails', { key: sender.key, body: email })).body.message
  }
  const whole = { account_id: sender.id, domain_id: null }
  const part = { account_id: sender.id, domain_id: sender.domain_id }
  for (const [party, paused_by, reason, told] of [
    [
      whole,
      'operator',
      'We look into it',
      'Sending is paused for this account by the operator of this server: We look into it. Ask them to resume it.',
    ],
    [
      whole,
      'operator',
      null,
      'Sending is paused for this account by the operator of this server. Ask them to resume it.',
    ],
    [
      whole,
      'bounces',
      '30 of the last 200 recipients bounced.',
      'Sending is paused for this account: 30 of the last 200 recipients bounced. Remove the addresses that do not exist, then ask the operator of this server to resume it.',
    ],
    [
      part,
      'complaints',
      '3 of the last 200 recipients complained.',
      `Sending is paused for the ${sender.domain} domain: 3 of the last 200 recipients complained. Write only to people who want your mail, then ask the operator of this server to resume it.`,
    ],
  ] as const) {
    await pauseParty(pool, party, { paused_by, reason })
    t.equal(await message(), told)
    await resume(party)
  }
  await pausePlatform(pool, 'Disks are replaced.')
  t.equal(await message(), 'Sending is paused on this server: Disks are replaced. Retry later.')
  await resumePlatform(pool)
})

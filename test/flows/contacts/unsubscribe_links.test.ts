import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createUnsubscribeLinks } from '#flows/contacts/unsubscribe_links.ts'
import { addTokenKey, createReadTokenKeys, tokenKeyContext } from '#flows/process/token_keys.ts'
import { parseUnsubscribeLocal, parseUnsubscribeToken } from '#lib/contacts/unsubscribe_token.ts'
import { newId } from '#lib/ids.ts'
import { createSecrets } from '#lib/secrets.ts'
import { createPool, sql } from '#sql/pool.ts'
import { listTokenKeys } from '#sql/process/token_keys.ts'
import { openWorld } from '#test/support/world.ts'

const recipient = {
  ...{ account_id: newId(), domain_id: newId(), email_id: newId(), delivery_id: newId() },
  ...{ address: 'Ann@Acme.com', topic_id: newId(), return_path: 'send.acme.com' },
}

t.test('unsubscribe links identify exactly one recipient', async t => {
  const world = await openWorld(t, { BASE_URL: 'https://mail.acme.com' })
  const linksOf = createUnsubscribeLinks(world)
  const { https, mailto } = await linksOf(recipient)
  const keys = await createReadTokenKeys(world)()

  t.equal(https.slice(0, 24), 'https://mail.acme.com/u/')
  const { account_id, domain_id, email_id, topic_id } = recipient
  t.strictSame(parseUnsubscribeToken(https.slice(24), keys), {
    ...{ account_id, domain_id, email_id, topic_id, address: 'ann@acme.com' },
  })
  const [, local = '', host] = /^mailto:([^@]+)@(.+)$/.exec(mailto ?? '') ?? []
  t.equal(parseUnsubscribeLocal(local, keys), recipient.delivery_id)
  t.equal(host, 'send.acme.com')
  t.strictSame(await linksOf(recipient), { https, mailto }, 'the links are the same each time')
})

t.test('a mailto link exists only if a return path receives its mail', async t => {
  const world = await openWorld(t)
  const unverified = { ...recipient, return_path: null }
  t.equal((await createUnsubscribeLinks(world)(unverified)).mailto, null)
  const config = { ...world.config, RETURN_PATH_DOMAIN: 'bounces.acme.com' }
  const { mailto } = await createUnsubscribeLinks({ ...world, config })(unverified)
  t.match(mailto, /@bounces\.acme\.com$/)
})

t.test('processes that start at the same moment create one key', async t => {
  const world = await openWorld(t)
  const read = await Promise.all(Array.from({ length: 8 }, () => createReadTokenKeys(world)()))
  const tags = read.map(keys => keys.sign(1, Buffer.from('x')).toString('hex'))
  t.equal(new Set(tags).size, 1)
  t.equal((await listTokenKeys(world.pool)).length, 1)
})

t.test('a link stays valid when SECRET_KEY is replaced', async t => {
  const world = await openWorld(t)
  const { https } = await createUnsubscribeLinks(world)(recipient)
  const secrets = createSecrets('another secret key of the tests, as long')
  for (const { kid, key } of await listTokenKeys(world.pool)) {
    const sealed = secrets.seal(world.secrets.open(key, tokenKeyContext(kid)), tokenKeyContext(kid))
    await world.pool.run(sql.unsafe`UPDATE token_keys SET key = ${sql.binary(sealed)} WHERE kid = ${kid}`)
  }
  t.strictSame((await createUnsubscribeLinks({ ...world, secrets })(recipient)).https, https)
})

t.test('a new key signs after every process has it; old links stay valid', async t => {
  const world = await openWorld(t)
  const old = (await createUnsubscribeLinks(world)(recipient)).https
  t.equal(await addTokenKey(world), 2)
  t.equal((await createUnsubscribeLinks(world)(recipient)).https, old, 'not yet')
  await world.pool.run(sql.unsafe`UPDATE token_keys SET created_at = now() - interval '11 minutes'`)
  const { https } = await createUnsubscribeLinks(world)(recipient)
  t.not(https, old)
  const keys = await createReadTokenKeys(world)()
  for (const link of [old, https])
    t.match(parseUnsubscribeToken(link.split('/u/')[1] ?? '', keys), { address: 'ann@acme.com' })
})

t.test('cached keys work while the database is away', async t => {
  const world = await openWorld(t)
  const pool = createPool(world.config.DATABASE_URL as string)
  const readKeys = createReadTokenKeys({ ...world, pool }, 1)
  const keys = await readKeys()
  await pool.end()
  for (let n = 0; n < 3; n++) {
    await sleep(5)
    t.equal(await readKeys(), keys)
  }
  await t.rejects(createReadTokenKeys({ ...world, pool })())
})

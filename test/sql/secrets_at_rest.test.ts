import { createPrivateKey } from 'node:crypto'
import t from 'tap'
import { v7 as uuid } from 'uuid'
import { createApiKey } from '#flows/accounts/create_api_key.ts'
import { setUp } from '#flows/accounts/create_sandbox.ts'
import { createDomain } from '#flows/domains/create_domain.ts'
import { dkimContext } from '#flows/domains/signing_keys.ts'
import { layFoundation } from '#flows/process/run_process.ts'
import { StartupError } from '#lib/errors.ts'
import { insertAccount } from '#sql/accounts/accounts.ts'
import { listSigningKeys } from '#sql/domains/dkim_keys.ts'
import { dumpTables } from '#test/support/database/dump.ts'
import { openWorld, SECRET_KEY, testConfig } from '#test/support/world.ts'

const world = await openWorld(t)
const { pool, secrets } = world

t.test('the database contains no API key and no private part of a DKIM key', async t => {
  const keys = [(await setUp(pool, secrets)) as string]
  const account = { id: uuid(), name: 'acme', plan: 'unlimited' }
  await insertAccount(pool, account)
  const domain = await createDomain(world, { account_id: account.id, name: 'acme.com', is_trusted: true })
  for (const permission of ['full_access', 'sending_access'] as const) {
    const fields = { account_id: account.id, name: permission, permission, domain_id: domain.id, expires_at: null }
    keys.push(await createApiKey(pool, secrets, fields))
  }
  const text = Array.from(await dumpTables(pool), table => table.join('\n')).join('\n')
  for (const table of ['public.api_keys', 'public.dkim_keys', 'graphile_worker.']) t.match(text, table)

  for (const key of keys) {
    t.match(text, key.slice(0, 8), 'its prefix is shown')
    for (const part of [key, key.slice(8), key.slice(3, -6), hex(key), hex(key.slice(8))]) t.notMatch(text, part)
  }

  const [row, other, ...more] = await listSigningKeys(pool, account.id, domain.id)
  if (!row || !other || more.length > 0) return t.fail('not the two DKIM keys')
  const der = secrets.open(row.private_key, dkimContext(row))
  const jwk = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }).export({ format: 'jwk' })
  for (const part of ['d', 'p', 'q', 'dp', 'dq', 'qi'] as const) {
    const bytes = Buffer.from(jwk[part] ?? '', 'base64url')
    t.ok(bytes.length > 100)
    for (const encoding of ['hex', 'base64', 'base64url'] as const) {
      t.notMatch(text, bytes.subarray(3, 63).toString(encoding))
    }
  }
  t.equal(other.algorithm, 'ed25519-sha256')
  const pkcs8 = secrets.open(other.private_key, dkimContext(other))
  const { d: seed = '' } = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' }).export({ format: 'jwk' })
  t.equal(Buffer.from(seed, 'base64url').length, 32)
  for (const bytes of [Buffer.from(seed, 'base64url'), pkcs8]) {
    for (const encoding of ['hex', 'base64', 'base64url'] as const) {
      // The ends of base64 within a longer text depend on its neighbors.
      for (const start of [0, 1, 2]) t.notMatch(text, bytes.subarray(start).toString(encoding).slice(0, -2))
    }
  }
  t.notMatch(text, 'PRIVATE KEY')
  t.notMatch(text, der.subarray(40, 100).toString('hex'))

  for (const part of [SECRET_KEY, hex(SECRET_KEY), secrets.pepper.toString('hex')]) t.notMatch(text, part)
})

t.test('a process with another SECRET_KEY refuses to start', async t => {
  const url = world.config.DATABASE_URL as string
  const other = testConfig(url, { SECRET_KEY: `${SECRET_KEY}!` })
  const refusal = await layFoundation(other, world.log).catch(error => error)
  t.ok(refusal instanceof StartupError)
  t.equal(refusal.message, 'SECRET_KEY is not the one this database was set up with.')

  const same = await layFoundation(testConfig(url), world.log)
  await same.pool.end()
})

t.test('a sealed key moved to another row cannot be opened', async t => {
  const { rows } = await pool.pg.query('SELECT DISTINCT ON (account_id) * FROM dkim_keys')
  const [first, second] = rows
  t.doesNotThrow(() => secrets.open(first.private_key, dkimContext(first)))
  t.throws(() => secrets.open(first.private_key, dkimContext(second)))
  t.throws(() => secrets.open(first.private_key, dkimContext({ ...first, account_id: second.account_id })))
})

function hex(text: string): string {
  return Buffer.from(text).toString('hex')
}

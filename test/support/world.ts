import { writeSync } from 'node:fs'
import type { Test } from 'tap'
import { createApiKey } from '#flows/accounts/create_api_key.ts'
import { dkimContext } from '#flows/domains/signing_keys.ts'
import { type Foundation, layFoundation } from '#flows/process/run_process.ts'
import { type Config, readConfig } from '#lib/config.ts'
import { newId } from '#lib/ids.ts'
import { createLog } from '#lib/log.ts'
import { generateDkimKey } from '#lib/mail/dkim.ts'
import type { Secrets } from '#lib/secrets.ts'
import { insertAccount } from '#sql/accounts/accounts.ts'
import type { Domain } from '#sql/domains/columns.ts'
import { insertDkimKeys } from '#sql/domains/dkim_keys.ts'
import { insertDomain } from '#sql/domains/domains.ts'
import type { Pool, Tx } from '#sql/pool.ts'
import { createDatabase } from '#test/support/database/database.ts'

export const SECRET_KEY = 'a secret key of the tests, of more than 32 characters'

/** A separate database with the foundation of a process; closed at the end of the test. */
export async function openWorld(t: Test, environment: Record<string, string> = {}): Promise<Foundation> {
  const config = testConfig(await createDatabase(t), environment)
  const foundation = await layFoundation(config, createLog(process.env.TEST_LOG_LEVEL ?? 'silent'))
  foundation.pool.pg.options.connectionTimeoutMillis = PATIENCE_MS
  t.teardown(() => endPool(foundation.pool))
  return foundation
}

/** Ends the process if a test did not release a connection: the end of the pool would wait for it for ever, and with it the whole group. */
async function endPool(pool: Pool): Promise<void> {
  const late = setTimeout(() => {
    writeSync(2, `A test did not release its connections: ${pool.pg.totalCount} of a pool are in use.\n`)
    process.exit(1)
  }, PATIENCE_MS)
  await pool.end()
  clearTimeout(late)
}

/** Longest wait for a connection of the pool. In processes it is 2 s, which tests beside each other may exceed on a busy machine. */
const PATIENCE_MS = 60_000

/** A port where nobody listens: services that a test does not set are refused at once. */
const NO_DNS = '127.0.0.1:1'

export function testConfig(database_url: string, environment: Record<string, string> = {}): Config {
  const defaults = {
    DATABASE_URL: database_url,
    SECRET_KEY,
    HELO_NAME: 'mailbrook.test',
    SENDS_PER_MINUTE: '0',
    DNS_SERVERS: NO_DNS,
  }
  return readConfig({ ...defaults, ...environment })
}

export type TestAccount = {
  id: string
  domain: string
  domain_id: string
  key: string
  sending_key: string
  dkim: { selector: string; public_key: string }
}

/** Generating an RSA key takes longer than a test: one serves all domains of a process. */
const dkimKey = generateDkimKey('rsa-sha256')
let accounts = 0

/** Creates an account with a verified domain, a full-access key and a sending key. */
export async function newAccount({ pool, secrets }: Foundation): Promise<TestAccount> {
  const account_id = newId()
  const domain = `d${++accounts}-${account_id.slice(-6)}.acme.com`
  const domain_id = newId()
  const { public_key } = await dkimKey
  const key = { account_id, domain_id: null, expires_at: null }
  return pool.transaction(async tx => {
    await insertAccount(tx, { id: account_id, name: `account ${account_id}`, plan: 'unlimited' })
    await insertDomainWithKey(tx, secrets, { account_id, id: domain_id, name: domain, status: 'verified' })
    return {
      id: account_id,
      domain,
      domain_id,
      dkim: { selector: SELECTOR, public_key },
      key: await createApiKey(tx, secrets, { ...key, name: 'full', permission: 'full_access' }),
      sending_key: await createApiKey(tx, secrets, { ...key, name: 'sending', permission: 'sending_access' }),
    }
  })
}

const SELECTOR = 'mb1'

/** Adds a domain with a signing key. */
export async function addDomain(pool: Pool, secrets: Secrets, domain: Domain): Promise<void> {
  await pool.transaction(tx => insertDomainWithKey(tx, secrets, domain))
}

async function insertDomainWithKey(tx: Tx, secrets: Secrets, domain: Domain): Promise<void> {
  const { account_id, id: domain_id } = domain
  const row = { account_id, id: newId(), domain_id, selector: SELECTOR, algorithm: 'rsa-sha256' as const }
  const { private_key, public_key } = await dkimKey
  await insertDomain(tx, domain)
  await insertDkimKeys(tx, [{ ...row, public_key, private_key: secrets.seal(private_key, dkimContext(row)) }])
}

/** Adds another verified domain to an account. `label` begins its name. */
export async function addOtherDomain(world: Foundation, { id: account_id, domain }: TestAccount, label = 'other') {
  const other = { account_id, id: newId(), name: `${label}-${domain}`, status: 'verified' } as const
  await addDomain(world.pool, world.secrets, other)
  return other
}

import { dkimContext } from '#flows/domains/signing_keys.ts'
import { isUnused } from '#flows/process/open_secrets.ts'
import type { Config } from '#lib/config.ts'
import { about, type Check, type Finding } from '#lib/doctor/finding.ts'
import type { Site } from '#lib/doctor/site.ts'
import { StartupError } from '#lib/errors.ts'
import { loadDkimKey } from '#lib/mail/dkim.ts'
import { createSecrets } from '#lib/secrets.ts'
import { findAccount } from '#sql/accounts/accounts.ts'
import { losesSessions } from '#sql/fitness.ts'
import type { Pool } from '#sql/pool.ts'
import { listSealedKeys, type SealedKey } from '#sql/process/doctor.ts'
import { checkClock } from './clock.ts'
import { checkDomains } from './domains.ts'
import { checkPostgres } from './postgres.ts'
import { checkQueue } from './queue.ts'

const SECRET_KEY = about('SECRET_KEY')

const MAX_KEYS = 10_000

/** Returns the checks of a reachable database. Before it is migrated, most tables do not exist. */
export function databaseChecks(pool: Pool, site: Site, isUpToDate: boolean): Check[] {
  const checks = [
    { check: 'Postgres', run: () => checkPostgres(pool, site.config, isUpToDate) },
    { check: 'pooler', run: () => checkPooler(site.config) },
    { check: 'clock', run: () => checkClock(pool) },
  ]
  if (!isUpToDate) return checks
  return [
    ...checks,
    { check: 'SECRET_KEY', run: () => checkSecretKey(pool, site.config) },
    { check: 'queue', run: () => checkQueue(pool) },
    { check: 'domains', run: () => checkDomains(pool, site) },
    { check: 'OPERATOR_ACCOUNT', run: () => checkOperatorAccount(pool, site.config) },
  ]
}

async function checkPooler({ DATABASE_URL: url }: Config): Promise<Finding[]> {
  if (!(await losesSessions(url as string))) return []
  const fix = 'pgbouncer.ini: pool_mode = session   (see "Connections to Postgres" in docs/operating.md)'
  return [
    about('pooler').problem('DATABASE_URL leads through a pooler that keeps no sessions: no process starts.', fix),
  ]
}

/** Checks that the account exists. Its name is not checked at the start, since accounts may be created later. */
async function checkOperatorAccount(pool: Pool, { OPERATOR_ACCOUNT: name }: Config): Promise<Finding[]> {
  if (!name || (await findAccount(pool, name))) return []
  const finding = `There is no account ${name}: mail to postmaster without a domain is not received.`
  return [about('OPERATOR_ACCOUNT').problem(finding, 'OPERATOR_ACCOUNT=the name or id of an account, or none')]
}

/** Checks that SECRET_KEY opens the stored keys. Writes nothing, not even to a database that has no key yet. */
async function checkSecretKey(pool: Pool, { SECRET_KEY: secret_key }: Config): Promise<Finding[]> {
  const secrets = createSecrets(secret_key as string)
  try {
    if (await isUnused(pool, secrets)) return [SECRET_KEY.ok('Nothing is encrypted in this database yet.')]
  } catch (error) {
    if (!(error instanceof StartupError)) throw error
    return [SECRET_KEY.problem(error.message, LOST)]
  }
  const keys = await listSealedKeys(pool, MAX_KEYS)
  const unusable = keys.filter(key => !opens(key))
  if (unusable.length === 0) return [SECRET_KEY.ok(`It decrypts all ${keys.length} signing keys.`)]
  return unusable.map(({ domain, selector }) =>
    about(`domain ${domain}`).problem(`Its signing key ${selector} cannot be used: nothing is sent from it.`, RESTORE),
  )

  function opens(key: SealedKey): boolean {
    try {
      loadDkimKey(secrets.open(key.private_key, dkimContext(key)))
      return true
    } catch {
      return false
    }
  }
}

/** Without the statements no process starts, not even the command that creates API keys. */
const LOST = [
  'Set SECRET_KEY to the one used at that time. If it is lost, give up what it encrypts:',
  "DELETE FROM settings WHERE name = 'secret_key_check'; DELETE FROM token_keys;",
  'Then create new API keys, delete and add every domain again, and rotate the secret of every webhook.',
  'Links in mail that was sent no longer work.',
].join('\n')

const RESTORE = 'Restore its row of dkim_keys from a backup, or delete the domain and add it again.'

import { spawn } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { createDomain } from '#flows/domains/create_domain.ts'
import { hashApiKey } from '#lib/api_key.ts'
import { dkimRecordValue } from '#lib/mail/dkim.ts'
import { findAccount } from '#sql/accounts/accounts.ts'
import { findCaller } from '#sql/accounts/api_keys.ts'
import { listDkimKeys, listSigningKeys } from '#sql/domains/dkim_keys.ts'
import { findDomainByName } from '#sql/domains/domains.ts'
import { findPlatform } from '#sql/safety/platform.ts'
import { receive } from '#test/support/receiving.ts'
import { ROOT } from '#test/support/root.ts'
import { makeScratch } from '#test/support/scratch.ts'
import { acceptEmail, deliverEmails, openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld, SECRET_KEY } from '#test/support/world.ts'
import { commands } from '#workers/admin/commands.ts'
import { describeError, readCommand } from '#workers/admin/words.ts'

const PROGRAM = join(ROOT, 'workers/admin.ts')
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\n$/
const USAGE = /\nnpm run admin -- account create --name NAME /

const world = await openWorld(t)
const { pool, secrets } = world
const account = await newAccount(world)
const cache = process.env.NODE_COMPILE_CACHE ?? (await openCache()) // without a cache, loading the program takes most of the time
const environment = { DATABASE_URL: world.config.DATABASE_URL ?? '', SECRET_KEY, NODE_COMPILE_CACHE: cache }

const callerOf = (key: string) => findCaller(pool, hashApiKey(key, secrets.pepper))

t.test('account create creates an account and prints its id', async t => {
  const { stdout, ...rest } = await admin(['account', 'create', '--name', 'acme'])
  t.match(stdout, ID)
  t.same(rest, { code: 0, stderr: '' })
  const id = stdout.trim()
  t.match(await findAccount(pool, 'acme'), { id, plan: 'unlimited' })
  const free = await prints(t, ID, 'account', 'create', '--name', 'acme two', '--plan', 'free')
  t.match(await findAccount(pool, 'acme two'), { id: free, plan: 'free' })
  await refuses(t, 'There is an account acme already.', 'account', 'create', '--name', 'acme')
  await refuses(t, `There is an account ${id} already.`, 'account', 'create', '--name', id)
})

t.test('token-key add adds a key for links', async t => {
  shows(t, await admin(['token-key', 'add']), {
    code: 0,
    stdout: '2\n',
    stderr: /^It signs new links 10 minutes from now\./,
  })
})

t.test('account update and plan set change the limits of an account', async t => {
  const gold = {
    name: 'gold',
    emails_per_day: null,
    emails_per_month: 50_000,
    domains: 30,
    ai_credits: 200,
    automation_runs: 500,
  }
  await prints(
    t,
    /^gold {2}per day: no limit {2}per month: 50000 {2}domains: 30 {2}AI credits: 200 {2}automation runs: 500\n$/,
    'plan',
    'set',
    'gold',
    '--per-month',
    '50000',
    '--domains',
    '30',
    '--ai-credits',
    '200',
    '--automation-runs',
    '500',
  )
  const id = await prints(t, ID, 'account', 'update', account.id, '--plan', 'gold', '--add-credits', '70')
  await prints(t, ID, 'account', 'update', account.id, '--add-credits', '7')
  const { rows } = await pool.pg.query(
    'SELECT p.*, u.credits FROM accounts a JOIN plans p ON p.name = a.plan JOIN account_usage u ON u.account_id = a.id WHERE a.id = $1',
    [id],
  )
  t.strictSame(rows, [{ ...gold, credits: 77 }])
  const plans =
    /^free {2}per day: 100 {2}per month: 3000 {2}domains: 1 {2}AI credits: 100 {2}automation runs: 1000\ngold {2}.*\nunlimited {2}per day: no limit .* domains: no limit {2}AI credits: no limit {2}automation runs: no limit\n$/
  await prints(t, plans, 'plan', 'list')
})

t.test('account update sets the default brand of domains', async t => {
  const update = (...words: string[]) => prints(t, ID, 'account', 'update', account.id, ...words)
  const read = async () => {
    const { rows } = await pool.pg.query(
      'SELECT postal_address, brand_name, brand_color, brand_logo_url FROM accounts WHERE id = $1',
      [account.id],
    )
    return Object.values(rows[0])
  }
  await update('--postal-address', '1 Main Street', '--brand-name', 'Acme', '--brand-color', '#1A5FB4')
  t.strictSame(await read(), ['1 Main Street', 'Acme', '#1a5fb4', null])
  await update('--brand-logo-url', 'https://acme.com/logo.png', '--brand-name', '', '--postal-address', '')
  t.strictSame(await read(), [null, null, '#1a5fb4', 'https://acme.com/logo.png'])
  const words = ['account', 'update', account.id]
  await refuses(t, '--brand-color must be a color such as `#1a5fb4`', ...words, '--brand-color', 'red')
  await refuses(t, '--brand-logo-url must be an https URL', ...words, '--brand-logo-url', 'x')
  await refuses(t, 'Nothing to update: give at least one option.', ...words)
})

t.test('key create prints only a key that the API accepts', async t => {
  const create = ['key', 'create', '--account', account.id, '--name']
  const key = await prints(t, /^mb_\w{49}\n$/, ...create, 'all')
  t.match(await callerOf(key), { account_id: account.id, permission: 'full_access', domain_id: null, usable: true })

  const limits = ['--sending-only', '--domain', account.domain.toUpperCase(), '--expires', '2199-01-31T12:00:00+02:00']
  const sending_key = await prints(t, /^mb_\w{49}\n$/, ...create, 'sending', ...limits)
  const limited = { permission: 'sending_access', domain_id: account.domain_id, usable: true }
  t.match(await callerOf(sending_key), limited)
  const { rows } = await pool.pg.query("SELECT name, expires_at FROM api_keys WHERE permission = 'sending_access'")
  t.match(rows.at(-1), { name: 'sending', expires_at: new Date('2199-01-31T10:00:00Z') })

  const defaulted = await prints(t, /^mb_\w{49}\n$/, ...create, 'app', '--default-domain', account.domain)
  t.match(await callerOf(defaulted), { domain_id: null, default_domain_id: account.domain_id })
})

t.test('key revoke accepts a key or its id', async t => {
  const { key, sending_key } = await newAccount(world)
  await prints(t, /^revoked\n$/, 'key', 'revoke', key)
  t.match(await callerOf(key), { usable: false })
  t.match(await callerOf(sending_key), { usable: true }, 'the other key is unchanged')
  await refuses(t, 'There is no such key, or it is already revoked.', 'key', 'revoke', key)

  const caller = await callerOf(sending_key)
  await prints(t, /^revoked\n$/, 'key', 'revoke', caller?.id ?? '')
  t.match(await callerOf(sending_key), { usable: false })
})

t.test('domain add prints the id of the domain and the record to publish', async t => {
  const add = (...words: string[]) => run(t, ['domain', 'add', ...words, '--account', account.id])
  const { code, stdout, stderr } = await add('München.acme.com', '--verified')
  t.equal(code, 0)
  t.match(stdout, ID)
  shows(t, await findDomainByName(pool, account.id, 'xn--mnchen-3ya.acme.com'), {
    id: stdout.trim(),
    status: 'verified',
  })
  const { rows } = await pool.pg.query('SELECT * FROM dkim_keys WHERE domain_id = $1 ORDER BY selector', [
    stdout.trim(),
  ])
  const lines = rows.map(({ selector, algorithm, public_key }) => {
    const record = dkimRecordValue(algorithm, public_key)
    return `Publish: ${selector}._domainkey.xn--mnchen-3ya.acme.com TXT "${record}"\n`
  })
  t.equal(lines.length, 2)
  t.equal(stderr, lines.join(''))
  await prints(
    t,
    /^mb_/,
    'key',
    'create',
    '--account',
    account.id,
    '--name',
    'x',
    '--sending-only',
    '--domain',
    'münchen.acme.com',
  )

  t.match(await add('later.acme.com'), { code: 0, stdout: ID })
  shows(t, await findDomainByName(pool, account.id, 'later.acme.com'), { status: 'not_started' })
  t.match(await add('LATER.acme.com'), { code: 1, stderr: 'This account has the domain later.acme.com already.\n' })
  t.match(await add('not a domain'), { code: 1, stderr: '"not a domain" is not a domain name.\n' })
  const other = await newAccount(world)
  const taken = { code: 1, stdout: '', stderr: `The domain ${other.domain} is verified by another account.\n` }
  t.match(await add(other.domain, '--verified'), taken)
})

t.test('domain rotate prints the records of new keys and, with --now, signs with them', async t => {
  const { id, name } = await createDomain(world, { account_id: account.id, name: 'my.com', is_trusted: true })
  const words = ['domain', 'rotate', 'MY.com', '--account', account.id]
  await refuses(t, 'It has no new keys. Run the command without --now first.', ...words, '--now')
  const staged = await run(t, words)
  t.match(staged, { code: 0, stdout: 'staged\n' })
  const keys = (await listDkimKeys(pool, account.id, id)).filter(({ state }) => state === 'staged')
  shows(t, keys, [{ selector: 'mb2' }, { selector: 'mb2e' }])
  const lines = keys.map(({ selector, algorithm, public_key }) => {
    return `Publish: ${selector}._domainkey.${name} TXT "${dkimRecordValue(algorithm, public_key)}"\n`
  })
  t.equal(staged.stderr, lines.join(''))
  t.same(await run(t, words), staged, 'the same keys when the command is repeated')

  await prints(t, /^rotated\n$/, ...words, '--now')
  const states = (await listDkimKeys(pool, account.id, id)).map(({ selector, state }) => `${selector} ${state}`)
  t.strictSame(states.sort(), ['mb1 retired', 'mb1e retired', 'mb2 active', 'mb2e active'])
  shows(t, await listSigningKeys(pool, account.id, id), [{ selector: 'mb2' }, { selector: 'mb2e' }])

  const asked = ['domain', 'rotate', account.domain, '--account', account.id]
  await refuses(t, 'DNS of this domain is checked: new keys are used once it has them.', ...asked, '--now')
})

t.test('captured list and captured show print captured messages', async t => {
  const work = openWork(t, world)
  const subjects = ['first', 'a\u001b[2Jb\u202ec 👩‍💻']
  const ids: string[] = []
  for (const subject of subjects) {
    ids.push(await acceptEmail(world, account, { subject, text: 'hello' }))
    await deliverEmails(work, ids.slice(-1))
  }
  const list = (await admin(['captured', 'list'])).stdout.split('\n')
  shows(t, list, [/ {2}x@y\.com {2}\d+ bytes {2}a\?\[2Jb\?c 👩‍💻$/, / {2}first$/, /^$/], 'newest first, harmless')
  t.equal((await admin(['captured', 'list', '--limit', '1'])).stdout, `${list[0]}\n`)
  const shown = await admin(['captured', 'show', ids[0] as string])
  t.match(shown, { code: 0, stderr: '', stdout: /^Subject: first\r\n/m })
  t.same(await admin(['captured', 'show', list[1]?.split(' ')[0] as string]), shown)
  t.match(await admin(['captured', 'list'], {}, true), { code: 0, stderr: '' }, 'the reader closes the pipe early')
})

t.test('report list and report show print reports without effect', async t => {
  const work = openWork(t, world)
  const raw = 'From: MAILER-DAEMON@y.com\r\nSubject: fa\u001b[2Jilure\r\nContent-Type: multipart/report\r\n\r\nx\r\n'
  const ids: string[] = []
  for (const mail_from of ['', 'x@y.com']) ids.push(await receive(work, account, raw, { mail_from }))
  const list = (await admin(['report', 'list'])).stdout.split('\n')
  t.same(
    list.map(line => line.split('  ')[0]),
    [...ids.toReversed(), ''],
    'newest first',
  )
  t.match(list[1], / {2}<> {2}It looks like a report, but could not be read\. {2}fa\?\[2Jilure$/)
  t.equal((await admin(['report', 'list', '--limit', '1'])).stdout, `${list[0]}\n`)
  t.same(await admin(['report', 'show', ids[0] as string]), { code: 0, stderr: '', stdout: raw })
  await refuses(t, `There is no such report: ${account.id}`, 'report', 'show', account.id)
  await refuses(t, 'Which report? Its id is in: report list', 'report', 'show', 'x')
  await pool.pg.query('UPDATE received_emails SET raw_blob_id = NULL WHERE id = $1', [ids[0]])
  const gone = `The raw message of ${ids[0]} is not kept any more (RAW_RETENTION_DAYS).`
  await refuses(t, gone, 'report', 'show', ids[0] as string)
})

t.test('sending pause pauses all sending with the given reason', async t => {
  await prints(t, /^paused\n$/, 'sending', 'pause', '--reason', 'We move.')
  t.match(await findPlatform(pool), { paused_at: Date, pause_reason: 'We move.' })
})

t.test('an invalid command is refused with its usage, and an unknown one with that of all', async t => {
  const key = ['key', 'create', '--account', account.id, '--name', 'x']
  const id = account.id
  const table: [string, ...string[]][] = [
    ['Which command?'],
    ['No such command: constructor', 'constructor'],
    ['No such command: account delete', 'account', 'delete'],
    [`Unknown option '--color'. `, 'captured', 'list', '--color'],
    ['--name is missing', 'account', 'create'],
    ['--name needs a value', 'account', 'create', '--name', ''],
    ...[' ', 'a\nb', '\u200b', 'x'.repeat(101)].flatMap((name): [string, ...string[]][] => [
      ['--name must be one line of 1 to 100 characters', 'account', 'create', '--name', name],
      ['--name must be one line of 1 to 100 characters', 'key', 'create', '--account', id, '--name', name],
      ['The name of a plan must be one line of 1 to 100 characters', 'plan', 'set', name],
    ]),
    ['Which account?', 'account', 'update', '--plan', 'free'],
    ['Nothing to update: give at least one option.', 'account', 'update', id],
    ['--add-credits must be a whole number of at most 9 digits', 'account', 'update', id, '--add-credits', 'many'],
    ['Which plan?', 'plan', 'set'],
    ['--plan must be one of: free, gold, unlimited', 'account', 'update', id, '--plan', 'x'],
    ['--plan must be one of: free, gold, unlimited', 'account', 'create', '--name', 'x', '--plan', 'silver'],
    ['account create takes no x', 'account', 'create', 'x', '--name', 'y'],
    ['--account is missing', 'key', 'create', '--name', 'x'],
    ['There is no account nobody.', 'key', 'create', '--name', 'x', '--account', 'nobody'],
    [`The account account ${id} has no domain other.com.`, ...key, '--sending-only', '--domain', 'other.com'],
    ['--domain limits a key that is --sending-only', ...key, '--domain', account.domain],
    ...['tomorrow', '2199-01-31T12:00:00', '2199-02-30', '+275760-01-01'].map((time): [string, ...string[]] => [
      '--expires must be a time such as 2027-01-31T12:00:00Z',
      ...[...key, '--expires', time],
    ]),
    ['--expires is in the past', ...key, '--expires', '2020-01-31'],
    ['Which key?', 'key', 'revoke'],
    ['Give the whole key (mb_...) or its id.', 'key', 'revoke', 'mb_123'],
    ['Give the whole key (mb_...) or its id.', 'key', 'revoke', 'a'.repeat(36)],
    ['There is no such key, or it is already revoked.', 'key', 'revoke', id],
    [`key revoke takes no ${id}`, 'key', 'revoke', id, id],
    ['Which domain?', 'domain', 'add', '--account', id],
    ['Which domain?', 'domain', 'rotate', '--account', id],
    ['bob is not an email address.', 'member', 'invite', 'bob', '--account', id],
    ['There is no member bob@y.com.', 'member', 'reset', 'bob@y.com'],
    ['captured list takes no --account', 'captured', 'list', '--account', id],
    ...['0', 'all', '1e20'].map((limit): [string, ...string[]] => [
      '--limit must be a number from 1 to 10000',
      ...['captured', 'list', '--limit', limit],
    ]),
    ['Which message? Its id is in: captured list', 'captured', 'show', 'x'],
    [`There is no captured message ${id}.`, 'captured', 'show', id],
  ]
  const before = await countRows()
  for (const [line, ...words] of table) await refuses(t, line, ...words)
  t.same(await countRows(), before, 'and nothing is done')
  t.match(await admin(['account', 'create', 'x']), { code: 1, stdout: /^$/, stderr: /^account create takes no x\n/ })
})

t.test('a value that Postgres refuses is printed in one line', async t => {
  const most = ['account', 'update', account.id, '--add-credits', '999999999']
  for (let n = 0; n < 2; n++) await prints(t, ID, ...most)
  const stderr = 'Postgres refuses a value: integer out of range\n'
  t.same(await run(t, most), { code: 1, stdout: '', stderr })
})

t.test('a fault of the configuration is printed in one line', async t => {
  const other = { SECRET_KEY: `${SECRET_KEY}.` }
  const refused = { code: 1, stdout: '' }
  const list = ['captured', 'list']
  t.match(await admin(list, other), { ...refused, stderr: /^SECRET_KEY is not the one .*\n$/ })
  const DATABASE_URL = 'postgres://a:b@127.0.0.1:1/c'
  t.match(await admin(list, { DATABASE_URL }), { ...refused, stderr: /^The database of DATABASE_URL cannot be .*\n$/ })
  t.match(await admin(list, { SECRET_KEY: '' }), { ...refused, stderr: /^SECRET_KEY: required with DATABASE_URL.*\n$/ })
})

async function openCache(): Promise<string> {
  const directory = await makeScratch('mailbrook-cache-')
  t.teardown(() => rm(directory, { recursive: true }))
  return directory
}

type Result = { code: number; stdout: string; stderr: string }

async function admin(words: string[], more: Record<string, string> = {}, isDeaf = false): Promise<Result> {
  const child = spawn(process.execPath, [PROGRAM, ...words], { env: { ...environment, ...more } })
  if (isDeaf) child.stdout.destroy()
  const code = new Promise<number>(resolve => child.once('close', resolve))
  const stdout = isDeaf ? '' : text(child.stdout)
  const stderr = text(child.stderr)
  return { code: await code, stdout: await stdout, stderr: await stderr }
}

/** Runs the command in this process: starting a process each time would take longer than all of them. */
async function run(t: Test, words: string[]): Promise<Result> {
  const [out, err] = [t.capture(console, 'log'), t.capture(console, 'error')]
  const refusal = await Promise.try(() => readCommand(words)(world)).then(
    () => null,
    error => describeError(error, words),
  )
  const [stdout, stderr] = [out, err].map(lines =>
    lines
      .args()
      .map(([line]) => `${line}\n`)
      .join(''),
  ) as [string, string]
  for (const lines of [out, err]) lines.restore()
  return refusal === null ? { code: 0, stdout, stderr } : { code: 1, stdout, stderr: `${stderr}${refusal}\n` }
}

/** Returns the output without its last line break. */
async function prints(t: Test, pattern: RegExp, ...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(t, words)
  t.match({ code, stdout, stderr }, { code: 0, stdout: pattern, stderr: /^$/ })
  return stdout.trim()
}

/** Runs in this process, since starting one takes longer than the whole table. */
async function refuses(t: Test, line: string, ...words: string[]): Promise<void> {
  const refusal = await Promise.try(() => readCommand(words)(world)).catch(error => error)
  const told = describeError(refusal, words)
  t.type(told, 'string', words.join(' '))
  t.equal(String(told).slice(0, line.length), line)
  const name = words.slice(0, 2).join(' ')
  if (Object.hasOwn(commands, name))
    t.match(told, new RegExp(`\n\nnpm run admin -- ${name}( .*)?\n( {18}.*\n)?An ACCOUNT .*$`))
  else t.match(told, USAGE)
}

async function countRows(): Promise<unknown> {
  const { rows } = await pool.pg.query(
    `SELECT (SELECT count(*) FROM accounts) AS accounts, (SELECT count(*) FROM domains) AS domains,
      (SELECT count(*) FROM api_keys WHERE revoked_at IS NULL) AS api_keys`,
  )
  return rows
}

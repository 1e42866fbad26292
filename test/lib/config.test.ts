import { readFile } from 'node:fs/promises'
import t from 'tap'
import { ConfigError, Environment, readConfig } from '#lib/config.ts'
import { defaultTransport, relayUrls } from '#lib/delivery/relay_urls.ts'
import { shows } from '#test/support/shows.ts'

const SECRET_KEY = 'x'.repeat(32)

/** The lines of the error message, or null if there is no error. */
function refusal(environment: Record<string, string>): string[] | null {
  try {
    readConfig(environment)
    return null
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.message.split('\n')
  }
}

t.test('readConfig returns defaults for an empty environment', async t => {
  const config = readConfig({})
  t.match(config, { PORT: 3000, BASE_URL: 'http://localhost:3000', MAIL_TRANSPORT: 'capture', LOG_LEVEL: 'info' })
  t.match(config, {
    SIMULATOR_DOMAIN: 'simulator.internal',
    SENDS_PER_MINUTE: 60,
    WEB_CONCURRENCY: 1,
    IN_DOUBT: 'resend',
    IN_DOUBT_CAMPAIGNS: 'hold',
  })
  t.ok(config.HELO_NAME)
  t.equal(config.DATABASE_URL, undefined)
})

t.test('an empty value counts as unset', async t => {
  t.strictSame(readConfig({ PORT: '', DATABASE_URL: '', SECRET_KEY: '', BASE_URL: '', HELO_NAME: '' }), readConfig({}))
  t.strictSame(
    readConfig({ SENDS_PER_MINUTE: ' ', PAUSE_BOUNCE_RATE: '\t', SECRET_KEY: ' '.repeat(32) }),
    readConfig({}),
  )
})

t.test('values are parsed to their types', async t => {
  const config = readConfig({ PORT: '8080', SENDS_PER_MINUTE: '0', SIMULATOR_DOMAIN: 'Sim.ACME.com', UNKNOWN: 'x' })
  t.match(config, {
    PORT: 8080,
    BASE_URL: 'http://localhost:8080',
    SENDS_PER_MINUTE: 0,
    SIMULATOR_DOMAIN: 'sim.acme.com',
  })
  t.notOk('UNKNOWN' in config)
  t.equal(readConfig({ PAUSE_COMPLAINT_RATE: '0.25' }).PAUSE_COMPLAINT_RATE, 0.25)
  t.equal(readConfig({ BASE_URL: 'https://mail.acme.com//' }).BASE_URL, 'https://mail.acme.com')
  t.strictSame(readConfig({ FETCH_PORTS: '443, 8443' }).FETCH_PORTS, [443, 8443])
  const relay = 'smtps://user:p%40ss@mail.acme.com:465'
  t.equal(readConfig({ MAIL_TRANSPORT: relay }).MAIL_TRANSPORT, relay)
  const relays = 'smtp://u:a,b@a.com, smtps://b.com:465,smtp://[::1]:25'
  t.strictSame(relayUrls(readConfig({ MAIL_TRANSPORT: relays })), [
    'smtp://u:a,b@a.com',
    ...relays.split(/, ?/).slice(2),
  ])
  t.equal(defaultTransport(readConfig({ MAIL_TRANSPORT: 'relay', RELAY_URL: relays })), 'relay')
  t.strictSame(relayUrls(readConfig({ RELAY_URL: relay })), [relay])
  t.strictSame(relayUrls(readConfig({})), [])
  t.equal(readConfig({ DATABASE_URL: 'postgres://localhost/x', SECRET_KEY }).DATABASE_URL, 'postgres://localhost/x')
})

t.test('each invalid value is named in the error', async t => {
  for (const [key, values] of Object.entries({
    DATABASE_URL: ['localhost', 'mysql://localhost/x', 'postgres'],
    SECRET_KEY: ['short', 'x'.repeat(31)],
    PORT: ['0', '65536', '-1', '80.5', 'http', '3000x'],
    BASE_URL: ['localhost:3000', 'ftp://a.com', '/', 'https://a.com/?b', 'https://a.com/#b', 'https://b@a.com'],
    MAIL_TRANSPORT: [
      'capturing',
      'http://a.com',
      'mail.acme.com:25',
      'smtp://a.com,b.com',
      'smtp://a.com,smtp:',
      'relay,capture',
      'smtp://u:p@a.com?requireTls=true',
      'smtp://a.com,smtp://u:p@b.com?ignoreTLS=no',
    ],
    HELO_NAME: ['mail acme.com', 'https://mail.acme.com', 'mail.acme.com:25', 'mail.acme.com.', 'a\r\nb'],
    DNS_SERVERS: ['dns.acme.com', '9.9.9.9:65536', '[::1]:0', '::1:'],
    RELAY_URL: [
      'smtp://a.com?requireTLS=yes',
      'smtp://a.com?pool=true',
      'capture',
      'relay',
      'http://a.com',
      'mail.acme.com:25',
      'smtp://a.com;smtp://b.com x',
    ],
    SIMULATOR_DOMAIN: ['localhost', 'a b.com', '1.2.3.4', 'x@y.com', '-.com'],
    RETURN_PATH_DOMAIN: ['localhost', '.com'],
    IN_DOUBT: ['drop', 'Resend'],
    IN_DOUBT_CAMPAIGNS: ['drop'],
    SENDS_PER_MINUTE: ['-1', '1.5', 'many'],
    PAUSE_BOUNCE_RATE: ['-1', '101', '10%'],
    PAUSE_COMPLAINT_RATE: ['-0.1', '101', '0,5'],
    TRUSTED_PROXIES: [
      'proxy.acme.com',
      '10.0.0.0/33',
      'fd00::/129',
      '10.0.0.1,',
      '10.0.0.1 10.0.0.2',
      '10.0.0/8',
      '1.2.3.4/',
    ],
    FETCH_PORTS: ['0', '65536', 'http', '80;443', '80,', ',', '80 443'],
    FETCH_ALLOW: ['receiver.acme.com', '10.0.0.0/33'],
    FETCH_DENY: ['receiver.acme.com', '10.0.0.0/33'],
    BLOB_STORE: ['disk', 's3', 's3://', 's3://B', 's3://key@bucket', 's3://bucket?endpoint=x', 's3://bucket?x=y'],
    SEND_CONNECTIONS: ['0', '1001'],
    DESTINATION_CONNECTIONS: ['0', '1001'],
    DESTINATION_RATE: ['-1', 'fast'],
    MX_PORT: ['0', '65536'],
    MX_ALLOW: ['mx.acme.com', '10.0.0.0/33'],
    WEB_CONCURRENCY: ['0', '100000'],
    LOG_RETENTION_DAYS: ['-1', '3651', '30d'],
    RAW_RETENTION_DAYS: ['-1', '3651', '30d'],
    LOG_LEVEL: ['verbose', 'INFO'],
  })) {
    for (const value of values) shows(t, refusal({ [key]: value }), [new RegExp(`^${key}: .`)], `${key}=${value}`)
  }
})

t.test('the error says what a value must be', async t => {
  const said = (key: string, value: string) => refusal({ [key]: value })?.[0]
  t.equal(said('PORT', '80x'), 'PORT: must be a number')
  t.equal(said('PORT', '80.5'), 'PORT: must be an integer')
  t.equal(said('PORT', '70000'), 'PORT: must be at most 65535')
  t.equal(said('SMTP_CONNECTIONS', '0'), 'SMTP_CONNECTIONS: must be at least 1')
  t.equal(said('IN_DOUBT', 'Hold'), 'IN_DOUBT: must be one of: resend, hold')
  t.equal(said('BASE_URL', 'mail.acme.com'), 'BASE_URL: must be an http:// or https:// URL')
  t.equal(said('BASE_URL', 'https://a.com/?b'), 'BASE_URL: must have no query, no fragment and no user')
  t.match(said('DATABASE_URL', 'postgres://a:b#c@d/e'), /^DATABASE_URL: must be .* percent-encoded$/)
  for (const hosts of ['a,b', 'a:5432,b:5432'])
    t.match(said('DATABASE_URL', `postgres://${hosts}/c`), /^DATABASE_URL: must be a postgres:\/\/ URL of one host/)
})

t.test('the error for MAIL_TRANSPORT lists the allowed values', async t => {
  shows(t, refusal({ MAIL_TRANSPORT: 'mail.acme.com:25' }), [
    /^MAIL_TRANSPORT: must be capture, direct, relay, smtp:.* or smtps:/,
  ])
})

t.test('relays are either in RELAY_URL or in MAIL_TRANSPORT', async t => {
  shows(t, refusal({ MAIL_TRANSPORT: 'relay' }), [/^RELAY_URL: required/])
  shows(t, refusal({ MAIL_TRANSPORT: 'smtp://a.com', RELAY_URL: 'smtp://b.com' }), [/^RELAY_URL: MAIL_TRANSPORT lists/])
})

t.test('the error lists all invalid variables, one per line', async t => {
  const wrong = { PORT: 'x', MAIL_TRANSPORT: 'x', LOG_LEVEL: 'x', SECRET_KEY: 'x', DATABASE_URL: 'x' }
  const named = refusal(wrong)?.map(line => line.split(':')[0])
  t.strictSame(named?.sort(), Object.keys(wrong).sort())
})

t.test('the error lists all missing variables, one per line', async t => {
  const wrong = {
    DATABASE_URL: 'postgres://localhost/x',
    SUBMISSION_PORT: '587',
    AI_URL: 'http://ai',
    MAIL_TRANSPORT: 'relay',
  }
  shows(t, refusal(wrong), [/^SECRET_KEY: /, /^SMTP_TLS_CERT: /, /^RELAY_URL: /, /^AI_MODEL: /])
})

t.test('relays and names of this server may have every documented form', async t => {
  const options = 'requireTLS=true&ignoreTLS=false&tls.rejectUnauthorized=false&tls.servername=mx.b.com'
  t.equal(refusal({ MAIL_TRANSPORT: `smtp://a.com?${options},smtps://u:p@b.com` }), null)
  for (const HELO_NAME of ['mail.acme.com', 'my_host', 'localhost', '[203.0.113.5]', '[IPv6:2001:db8::5]'])
    t.equal(refusal({ HELO_NAME }), null, HELO_NAME)
  t.equal(refusal({ DNS_SERVERS: '9.9.9.9, 127.0.0.1:5353, ::1, [::1]:53' }), null)
})

t.test('the error contains no secrets', async t => {
  const canary = 'canary-7261'
  const lines = refusal({
    SECRET_KEY: canary,
    DATABASE_URL: `mysql://u:${canary}@h/d`,
    MAIL_TRANSPORT: `x://u:${canary}@h`,
    RELAY_URL: `smtp://u:${canary}@h,x://u:${canary}@h`,
    BLOB_STORE: `s3://key:${canary}/+@bucket`,
  })
  t.equal(lines?.length, 5)
  t.notMatch(lines?.join('\n'), canary)
})

t.test('DATABASE_URL requires SECRET_KEY', async t => {
  shows(t, refusal({ DATABASE_URL: 'postgres://localhost/x' }), [/^SECRET_KEY: required with DATABASE_URL/])
})

t.test('.env.example lists every variable with its default', async t => {
  const text = await readFile(new URL('../../.env.example', import.meta.url), 'utf8')
  const given = Object.fromEntries(Array.from(text.matchAll(/^#([A-Z_]+)=(.*)$/gm), ([, key, value]) => [key, value]))
  t.strictSame(Object.keys(given), Object.keys(Environment.shape))
  t.strictSame(readConfig(given), readConfig({}))
})

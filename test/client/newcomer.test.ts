import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { setUp } from '#flows/accounts/create_sandbox.ts'
import { startApi } from '#test/support/api.ts'
import { CommandLine, type Result } from '#test/support/client/command_line.ts'
import { startZone, type Zone } from '#test/support/dns/name_server.ts'
import { ALLOWED } from '#test/support/http/fetching.ts'
import { shows } from '#test/support/shows.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { startHook } from '#test/support/webhooks/webhook_receiver.ts'
import { openWorld } from '#test/support/world.ts'
import { startWorker } from '#workers/worker.ts'

/** The first day of a new user, who has only the command line. */

const LINES = 1_000
const NAME = 'news.acme.com'
const FROM = `Acme <hello@${NAME}>`

const hook = await startHook(t)
const { server, zone } = await startZone(t)
const world = await openWorld(t, {
  ...{ FETCH_ALLOW: ALLOWED, FETCH_PORTS: String(hook.port), DNS_SERVERS: server },
  ...{ SERVER_DOMAIN: 'mail.acme.net', HELO_NAME: 'mail.acme.net' },
})
const key = (await setUp(world.pool, world.secrets)) as string
const api = await startApi(t, world, key)
world.config.BASE_URL = api.url // the port was not known before
const worker = await startWorker(world)
t.teardown(() => worker.stop())
const home = t.testdir()
const shell = new CommandLine({ XDG_CONFIG_HOME: home })

/** Runs a command that must succeed; returns what it printed. */
async function run(
  t: { equal(found: unknown, wanted: unknown, message: string): unknown },
  ...args: string[]
): Promise<Result['lines']> {
  const { code, lines, stderr } = await shell.run(args)
  t.equal(code, 0, `${args.join(' ')}: ${stderr}`)
  return lines
}

async function file(name: string, text: string): Promise<string> {
  await writeFile(join(home, name), text)
  return join(home, name)
}

/** Adds the lines of a zone file to a zone, as an import at a DNS provider does. */
function importZone(zone: Zone, text: string): void {
  for (const [, name = '', type = '', value = ''] of text.matchAll(/^(\S+)\.\s+\d+\s+IN\s+(\w+)\s+(.+)$/gm)) {
    const known = zone[name]
    const given =
      type === 'TXT' ? [...value.matchAll(/"([^"]*)"/g)].map(([, part]) => part).join('') : value.replace(/\.$/, '')
    zone[name] = { ...(typeof known === 'object' ? known : {}), [type]: [given] }
  }
}

t.test('a new user logs in, and doctor finds no problem', async t => {
  const login = await shell.run(['login', '--base-url', api.url], `${key}\n`)
  t.equal(login.code, 0, login.stderr)
  shows(t, await run(t, 'whoami'), [{ base_url: api.url, access: 'full' }])
  const levels = (await run(t, 'doctor')).map(({ level }) => level)
  t.strictSame([...new Set(levels)], ['ok'])
})

t.test('a domain is added, its records are exported to DNS, and it is verified', async t => {
  const [domain] = await run(t, 'domains', 'create', '--name', NAME)
  const [exported] = await run(t, 'domains', 'dns', 'export', domain.id, '--format', 'zone')
  importZone(zone, exported.content)
  await run(t, 'domains', 'verify', domain.id, '--wait')
  shows(t, await run(t, 'domains', 'get', domain.id), [{ name: NAME, status: 'verified' }])
})

t.test('a template is written, published and sent', async t => {
  const html = await file('welcome.html', '<p>Hello {{name}}!</p>')
  const options = ['--name', 'Welcome', '--alias', 'welcome', '--subject', 'Welcome {{name}}', '--html', `@${html}`]
  await run(t, 'templates', 'create', ...options)
  await run(t, 'templates', 'publish', 'welcome')
  const email = ['--from', FROM, '--to', 'anna@b.com', '--template-id', 'welcome', '--var', 'name=Anna']
  const [sent] = await run(t, 'send', ...email, '--wait')
  shows(t, await run(t, 'emails', 'get', sent.id), [
    { subject: 'Welcome Anna', html: '<p>Hello Anna!</p>', status: 'delivered' },
  ])
})

t.test('1,000 emails are sent by a command that is killed and run again', async t => {
  const emails = Array.from({ length: LINES }, (_, n) => ({
    from: FROM,
    to: `n${n}@b.com`,
    subject: `Line ${n}`,
    text: 'x',
  }))
  const path = await file('emails.jsonl', emails.map(email => `${JSON.stringify(email)}\n`).join(''))
  const count = async () => {
    const { rows } = await world.pool.pg.query(
      "SELECT count(*)::int, count(DISTINCT subject)::int AS subjects FROM emails WHERE subject LIKE 'Line %'",
    )
    return rows[0]
  }
  const { child } = shell.start(t, ['emails', 'batch', path])
  await waitUntil(async () => (await count()).count > LINES / 4, 'a quarter of the emails')
  child.kill('SIGKILL')
  await once(child, 'exit')
  t.ok((await count()).count < LINES, 'it was killed in the middle')
  const printed = await run(t, 'emails', 'batch', path)
  t.equal(printed.length, LINES)
  t.strictSame(await count(), { count: LINES, subjects: LINES }, 'each was sent once')
})

t.test('contacts are imported, and a campaign reaches them', async t => {
  const people = Array.from({ length: 200 }, (_, n) => `p${n}@c.com,P${n}\n`)
  const path = await file('contacts.csv', `email,first_name\n${people.join('')}`)
  shows(t, await run(t, 'contacts', 'import', path, '--domain', NAME), [
    { status: 'completed', counts: { created: 200 } },
  ])
  const [{ id: domain_id }] = await run(t, 'domains', 'list', '--all', '--limit', '1')
  const segments = await run(t, 'segments', 'list', '--domain', NAME, '--all')
  const content = [
    '--subject',
    'News',
    '--html',
    '<p>Hi {{first_name}}</p><a href="{{unsubscribe_url}}">Unsubscribe</a>',
  ]
  const [campaign] = await run(t, 'campaigns', 'create', '--from', FROM, '--segment-id', segments[0].id, ...content)
  await run(t, 'domains', 'update', domain_id, '--postal-address', '1 Main Street')
  const printed = await run(t, 'campaigns', 'send', campaign.id, '--expected-recipients', '200', '--yes', '--wait')
  shows(t, printed.at(-1), { recipients: 200, pending: 0 })
  shows(t, await run(t, 'campaigns', 'get', campaign.id), [{ status: 'sent' }])
})

t.test('logs tail and webhooks listen show requests and events as they come', async t => {
  const [webhook] = await run(t, 'webhooks', 'create', '--endpoint', hook.url, '--events', 'email.delivered')
  const nearby = await startHook(t)
  const tail = shell.start(t, ['logs', 'tail', '--failed'])
  const listener = shell.start(t, ['webhooks', 'listen', webhook.id, '--forward', nearby.url])
  await waitUntil(() => listener.output().includes('Waiting for events'), 'it listens')
  const { code } = await waitUntil(async () => {
    // Both read existing items before they wait for new ones.
    const refused = await shell.run(['send', '--from', FROM, '--to', 'nobody', '--subject', 'x', '--text', 'x'])
    return tail.output().includes('422') && refused
  }, 'the refused request is in the log')
  t.equal(code, 1)
  const posted = nearby.until(({ json }) => json.type === 'email.delivered')
  await run(t, 'send', '--from', FROM, '--to', 'anna@b.com', '--subject', 'Seen', '--text', 'x', '--wait')
  shows(t, (await posted).json, { type: 'email.delivered', data: { subject: 'Seen' } })
})

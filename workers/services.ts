import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { startServer } from '#api/server.ts'
import { SANDBOX_DOMAIN, setUp } from '#flows/accounts/create_sandbox.ts'
import { createSetupLink } from '#flows/members/member_links.ts'
import { type Foundation, layFoundation, type Running, superviseProcess } from '#flows/process/run_process.ts'
import { type Config, readConfig } from '#lib/config.ts'
import { relayUrls } from '#lib/delivery/relay_urls.ts'
import { AbandonedError } from '#lib/errors.ts'
import { createLog } from '#lib/log.ts'
import { type Account, findFirstAccount } from '#sql/accounts/accounts.ts'
import { findDomainByName } from '#sql/domains/domains.ts'
import { hasMembers } from '#sql/members/members.ts'
import { migrate } from '#sql/migrate.ts'
import { unusable } from '#sql/outage.ts'
import type { Watchdog } from '#sql/watchdog.ts'
import { createSite } from '#web/site.ts'
import { startSmtp } from './smtp.ts'
import { type SentSettings, STARTED } from './supervised_services.ts'
import { startWorker } from './worker.ts'

/** Migrates the database, then starts the API, a worker and SMTP in one process. */
export async function startServices(config: Config): Promise<Running> {
  await migrate(config.DATABASE_URL as string)
  const foundation = await layFoundation(config, createLog(config.LOG_LEVEL))
  const { failed, stop } = await startOn(foundation)
  return { failed, stop: () => stopUnlessDatabaseHangs(foundation.pool.watchdog, stop) }
}

async function startOn(foundation: Foundation): Promise<Running> {
  const stops = [() => foundation.pool.end()]
  const stop = async () => {
    for (const stopOne of stops.splice(0).reverse()) await stopOne()
  }
  try {
    const worker = await startWorker(foundation)
    stops.push(worker.stop)
    const server = await startServer(foundation, createSite)
    stops.push(server.stop)
    const smtp = await startSmtp(foundation)
    stops.push(smtp.stop)
    // The last step, since nothing may fail after it: a key that is created but not printed would be lost.
    const key = await setUp(foundation.pool, foundation.secrets)
    console.log(await welcome(foundation, key, smtp.port))
    return { stop, failed: worker.failed as Promise<never> }
  } catch (error) {
    await stop()
    throw unusable(error)
  }
}

/** If the database has not responded for this long, a stop does not wait for pending work, and takes less than 10 s. */
const HUNG_MS = 3_000
const PAUSE_MS = 200

/** Waits until `stop` has finished pending work, however long it takes, unless the database has ended or hangs. */
async function stopUnlessDatabaseHangs(watchdog: Watchdog, stop: () => Promise<void>): Promise<void> {
  let isOver = false
  const stopping = stop().finally(() => {
    isOver = true
  })
  stopping.catch(() => {}) // it may still reject after the race below has ended
  for (let served_at = performance.now(); !isOver; await Promise.race([stopping, sleep(PAUSE_MS)])) {
    const health = await watchdog.probe()
    if (health === 'serves' || health === 'closed') served_at = performance.now()
    else if (!isOver && performance.now() > served_at + HUNG_MS) {
      throw new AbandonedError('The database does not respond: pending work is left as it is.')
    }
  }
  await stopping
}

/** Returns what a new operator needs to know. */
async function welcome(foundation: Foundation, key: string | null, smtp_port: number): Promise<string> {
  const { config, pool } = foundation
  const account = (await findFirstAccount(pool)) as Account // setUp has created one if there was none
  const setup_link = (await hasMembers(pool)) ? null : await createSetupLink(foundation, account.id)
  const name = account.name.replaceAll("'", "'\\''")
  return [
    '',
    `Mailbrook is at ${config.BASE_URL}/api`,
    `The dashboard is at ${config.BASE_URL}`,
    ...(setup_link ? [`Set it up within an hour: ${setup_link}`] : []),
    key
      ? `API key (shown this once): ${key}`
      : `Another API key: npm run admin -- key create --account '${name}' --name NAME`,
    route(config),
    '',
    ...((await findDomainByName(pool, account.id, SANDBOX_DOMAIN)) ? firstSteps(config, key, smtp_port) : []),
  ].join('\n')
}

function route(config: Config): string {
  if (config.MAIL_TRANSPORT === 'capture')
    return 'Mail is captured, nothing leaves this machine: npm run admin -- captured list'
  if (config.MAIL_TRANSPORT === 'direct') return 'Mail goes to the servers of its recipients'
  return `Mail is sent through ${relayUrls(config)
    .map(url => new URL(url).host)
    .join(', ')}`
}

/** Returns commands for the sandbox domain. */
function firstSteps({ BASE_URL, MAIL_TRANSPORT, SIMULATOR_DOMAIN }: Config, key: string | null, smtp_port: number) {
  const to = MAIL_TRANSPORT === 'capture' ? `anna@${SANDBOX_DOMAIN}` : `delivered@${SIMULATOR_DOMAIN}`
  const body = { from: `Mailbrook <hello@${SANDBOX_DOMAIN}>`, to: [to], subject: 'Hello', html: '<p>It works.</p>' }
  const shown = key ?? 'YOUR_API_KEY'
  return [
    'Send one:',
    '',
    `curl ${BASE_URL}/api/emails -H 'Authorization: Bearer ${shown}' -H 'Content-Type: application/json' \\`,
    `  -d '${JSON.stringify(body)}'`,
    '',
    'Receive one, by SMTP:',
    '',
    `printf 'From: bob@y.com\\nSubject: Hi\\n\\nHello!\\n' | curl smtp://localhost:${smtp_port} --mail-from bob@y.com \\`,
    `  --mail-rcpt anna@${SANDBOX_DOMAIN} -T -`,
    '',
    'It is listed once it is parsed, some seconds later:',
    '',
    `curl ${BASE_URL}/api/emails/receiving -H 'Authorization: Bearer ${shown}'`,
    '',
  ]
}

/** Starts the services for a parent process, and ends with it, however it ends. */
async function startForParent(): Promise<Running> {
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  const [settings] = (await once(process, 'message')) as [SentSettings]
  const running = await startServices({ ...readConfig(), ...settings })
  process.send?.(STARTED)
  process.channel?.unref()
  return running
}

if (import.meta.main) await superviseProcess(startForParent)

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
import { findFirstAccount } from '#sql/accounts/accounts.ts'
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
    console.log(welcome(foundation.config, key, smtp.port, await setupLink(foundation)))
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

/** Returns the link with which the first member joins; null once there is one. */
async function setupLink(foundation: Foundation): Promise<string | null> {
  if (await hasMembers(foundation.pool)) return null
  const account = await findFirstAccount(foundation.pool)
  return account && createSetupLink(foundation, account.id)
}

function welcome(config: Config, key: string | null, smtp_port: number, setup_link: string | null): string {
  const api = `${config.BASE_URL}/api`
  const isCaptured = config.MAIL_TRANSPORT === 'capture'
  const to = isCaptured ? `anna@${SANDBOX_DOMAIN}` : `delivered@${config.SIMULATOR_DOMAIN}`
  const body = { from: `Mailbrook <hello@${SANDBOX_DOMAIN}>`, to: [to], subject: 'Hello', html: '<p>It works.</p>' }
  const shown = key ?? 'YOUR_API_KEY'
  return [
    '',
    `Mailbrook is at ${api}`,
    `The dashboard is at ${config.BASE_URL}`,
    ...(setup_link ? [`Set it up within an hour: ${setup_link}`] : []),
    key
      ? `API key (shown this once): ${key}`
      : 'Another API key: npm run admin -- key create --account default --name NAME',
    isCaptured
      ? 'Mail is captured, nothing leaves this machine: npm run admin -- captured list'
      : config.MAIL_TRANSPORT === 'direct'
        ? 'Mail goes to the servers of its recipients'
        : `Mail is sent through ${relayUrls(config)
            .map(url => new URL(url).host)
            .join(', ')}`,
    '',
    'Send one:',
    '',
    `curl ${api}/emails -H 'Authorization: Bearer ${shown}' -H 'Content-Type: application/json' \\`,
    `  -d '${JSON.stringify(body)}'`,
    '',
    'Receive one, by SMTP:',
    '',
    `printf 'From: bob@y.com\\nSubject: Hi\\n\\nHello!\\n' | curl smtp://localhost:${smtp_port} --mail-from bob@y.com \\`,
    `  --mail-rcpt anna@${SANDBOX_DOMAIN} -T - && curl ${api}/emails/receiving -H 'Authorization: Bearer ${shown}'`,
    '',
  ].join('\n')
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

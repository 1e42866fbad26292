import { setTimeout as sleep } from 'node:timers/promises'
import { startServer } from '../api/server.ts'
import { type Foundation, layFoundation, type Running, superviseProcess } from '../flows/run_process.ts'
import { SANDBOX_DOMAIN, setUp } from '../flows/set_up.ts'
import { type Config, readConfig } from '../lib/config.ts'
import { StartupError } from '../lib/errors.ts'
import { createLog } from '../lib/log.ts'
import { relayUrls } from '../lib/relay_urls.ts'
import { migrate } from '../sql/migrate.ts'
import { type LocalDatabase, openDatabase } from './local_database.ts'
import { startSmtp } from './smtp.ts'
import { startWorker } from './worker.ts'

/** Everything in one process: the database unless there is one, its migrations, the API, a worker, SMTP. */
async function startAll(): Promise<Running> {
  const log = createLog(readConfig().LOG_LEVEL)
  const database = await openDatabase(readConfig(), false, log)
  try {
    const { config } = database
    await migrate(config.DATABASE_URL as string)
    const foundation = await layFoundation(config, log)
    const { failed, stop } = await startOn(foundation)
    return {
      failed: Promise.race([failed as Promise<never>, database.failed]),
      stop: () => stopOrAbandon(foundation, stop, database),
    }
  } catch (error) {
    await database.stop()
    throw error
  }
}

/** All that needs the database. */
async function startOn(foundation: Foundation): Promise<Running> {
  const stops = [() => foundation.pool.end()]
  const stop = async () => {
    for (const stopOne of stops.splice(0).reverse()) await stopOne()
  }
  try {
    const worker = await startWorker(foundation)
    stops.push(worker.stop)
    const server = await startServer(foundation)
    stops.push(server.stop)
    const smtp = await startSmtp(foundation)
    stops.push(smtp.stop)
    // Last, when nothing can fail any more: a key that was made and never shown would be lost.
    const key = await setUp(foundation.pool, foundation.secrets)
    console.log(welcome(foundation.config, key, smtp.port))
    return { stop, failed: worker.failed as Promise<never> }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Without a database for so long, nothing that is still to be done can be: with what follows less than 10 s in all. */
const AWAY_MS = 3_000
const PAUSE_MS = 200

/** Finishes what was begun, however long it takes, unless the database is dead or hangs. */
async function stopOrAbandon({ pool }: Foundation, stop: () => Promise<void>, database: LocalDatabase): Promise<void> {
  let isOver = false
  const stopped = stop().finally(() => {
    isOver = true
  })
  const isAbandoned = async () => {
    for (let served_at = performance.now(); !isOver; await sleep(PAUSE_MS)) {
      if ((await pool.watchdog.probe()) === 'serves') served_at = performance.now()
      if (performance.now() > served_at + AWAY_MS) return true
    }
    return false
  }
  if (await isAbandoned()) {
    stopped.catch(() => {})
    await database.kill()
    throw new StartupError('The database does not answer: what was under way is left as it is.')
  }
  await stopped.finally(database.stop)
}

function welcome(config: Config, key: string | null, smtp_port: number): string {
  const api = `${config.BASE_URL}/api`
  const isCaptured = config.MAIL_TRANSPORT === 'capture'
  const to = isCaptured ? `anna@${SANDBOX_DOMAIN}` : `delivered@${config.SIMULATOR_DOMAIN}`
  const body = { from: `Mailbrook <hello@${SANDBOX_DOMAIN}>`, to: [to], subject: 'Hello', html: '<p>It works.</p>' }
  const shown = key ?? 'YOUR_API_KEY'
  return [
    '',
    `Mailbrook is at ${api}`,
    key
      ? `API key (shown this once): ${key}`
      : 'Another API key: npm run admin -- key create --account default --name NAME',
    isCaptured
      ? 'Mail is captured, nothing leaves this machine: npm run admin -- captured list'
      : config.MAIL_TRANSPORT === 'direct'
        ? 'Mail goes to the servers of its recipients'
        : `Mail leaves by ${relayUrls(config)
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

await superviseProcess(startAll)

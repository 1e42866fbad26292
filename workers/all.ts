import { startServer } from '../api/server.ts'
import { layFoundation, type Running, superviseProcess } from '../flows/run_process.ts'
import { SANDBOX_DOMAIN, setUp } from '../flows/set_up.ts'
import { type Config, readConfig } from '../lib/config.ts'
import { createLog } from '../lib/log.ts'
import { relayUrls } from '../lib/relay_urls.ts'
import { migrate } from '../sql/migrate.ts'
import { openDatabase } from './local_database.ts'
import { startSmtp } from './smtp.ts'
import { startWorker } from './worker.ts'

/** Everything in one process: the database unless there is one, its migrations, the API, a worker, SMTP. */
async function startAll(): Promise<Running> {
  const log = createLog(readConfig().LOG_LEVEL)
  const stops: (() => Promise<void>)[] = []
  const stop = async () => {
    for (const stopOne of stops.splice(0).reverse()) await stopOne()
  }
  try {
    const database = await openDatabase(readConfig(), false)
    stops.push(database.stop)
    const { config } = database
    await migrate(config.DATABASE_URL as string)
    const foundation = await layFoundation(config, log)
    stops.push(() => foundation.pool.end())
    const worker = await startWorker(foundation)
    stops.push(worker.stop)
    const server = await startServer(foundation)
    stops.push(server.stop)
    const smtp = await startSmtp(foundation)
    stops.push(smtp.stop)
    // Last, when nothing can fail any more: a key that was made and never shown would be lost.
    const key = await setUp(foundation.pool, foundation.secrets)
    console.log(welcome(config, key, smtp.port))
    return { stop, failed: worker.failed as Promise<never> }
  } catch (error) {
    await stop()
    throw error
  }
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

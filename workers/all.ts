import { type Running, superviseProcess } from '#flows/process/run_process.ts'
import { readConfig } from '#lib/config.ts'
import { createLog } from '#lib/log.ts'
import { probe } from '#sql/watchdog.ts'
import { openDatabase } from '#workers/embedded_postgres/local_database.ts'
import { SupervisedServices } from './supervised_services.ts'

/** Starts everything: the embedded database unless DATABASE_URL is set, migrations, the API, a worker and SMTP. */
async function startAll(): Promise<Running> {
  const config = readConfig()
  if (!config.DATABASE_URL) return startWithPostgres()
  // Loaded here, since the process that only keeps Postgres running does not need most of the program.
  const { startServices } = await import('./services.ts')
  return startServices(config)
}

/** Uses two processes: if Postgres crashes, the services may end as well, and then both are started again. */
async function startWithPostgres(): Promise<Running> {
  const log = createLog(readConfig().LOG_LEVEL)
  const database = await openDatabase(readConfig(), false, log)
  // A Postgres that hangs would not react to a request to stop.
  const stopDatabase = async () => {
    const health = await probe(database.config.DATABASE_URL as string)
    await (health === 'serves' || health === 'closed' ? database.stop() : database.kill())
  }
  try {
    const services = await SupervisedServices.start(database.config, log)
    return {
      failed: Promise.race([services.failed, database.failed]),
      stop: () => services.stop().finally(stopDatabase),
    }
  } catch (error) {
    await stopDatabase()
    throw error
  }
}

await superviseProcess(startAll)

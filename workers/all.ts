import { type Running, superviseProcess } from '#flows/process/run_process.ts'
import { readConfig } from '#lib/config.ts'
import { createLog } from '#lib/log.ts'
import { probe } from '#sql/watchdog.ts'
import { openDatabase } from '#workers/embedded_postgres/local_database.ts'
import { KeptServices } from './kept_services.ts'

/** Everything: the database unless there is one, its migrations, the API, a worker, SMTP. */
async function startAll(): Promise<Running> {
  const config = readConfig()
  if (!config.DATABASE_URL) return startWithPostgres()
  // Most of the program, which the process that only keeps Postgres has no need of.
  const { startServices } = await import('./services.ts')
  return startServices(config)
}

/** In two processes, since a Postgres that dies may take with it whoever uses it: then both are started again. */
async function startWithPostgres(): Promise<Running> {
  const log = createLog(readConfig().LOG_LEVEL)
  const database = await openDatabase(readConfig(), false, log)
  // One that hangs would not heed a request to stop.
  const stopDatabase = async () => {
    const health = await probe(database.config.DATABASE_URL as string)
    await (health === 'serves' ? database.stop() : database.kill())
  }
  try {
    const services = await KeptServices.start(database.config, log)
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

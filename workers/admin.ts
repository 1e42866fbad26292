import { layFoundation } from '#flows/process/run_process.ts'
import { readConfig } from '#lib/config.ts'
import { createLog } from '#lib/log.ts'
import { migrate } from '#sql/migrate.ts'
import { describeError, readCommand } from '#workers/admin/words.ts'
import { type LocalDatabase, openDatabase } from '#workers/embedded_postgres/local_database.ts'

let isLeaving = false

/** The operator's command: `npm run admin -- account create --name acme`. */
async function main(words: string[]): Promise<void> {
  const run = readCommand(words)
  const opening = openDatabase(readConfig(), true)
  stopOnSignals(opening)
  const database = await opening
  try {
    if (!readConfig().DATABASE_URL) await migrate(database.config.DATABASE_URL as string)
    const foundation = await layFoundation(database.config, createLog('silent'))
    try {
      await run(foundation)
    } finally {
      await foundation.pool.end()
    }
  } finally {
    await database.stop()
  }
}

/** Leaves the database on Ctrl-C: an embedded Postgres that this command has started would go on without it. */
function stopOnSignals(opening: Promise<LocalDatabase>): void {
  const leave = () => {
    opening
      .then(({ stop }) => stop())
      .catch(() => {})
      .finally(() => process.exit(1))
    isLeaving = true // the command fails, since it loses its database
  }
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, leave)
}

// The reader may close the pipe early: captured list | head -1
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

const words = process.argv.slice(2)
await main(words).catch(error => {
  if (!isLeaving) console.error(describeError(error, words))
  process.exitCode = 1
})

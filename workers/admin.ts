import { parseArgs } from 'node:util'
import { layFoundation } from '../flows/run_process.ts'
import { readConfig } from '../lib/config.ts'
import { ApiError, StartupError } from '../lib/errors.ts'
import { createLog } from '../lib/log.ts'
import { migrate } from '../sql/migrate.ts'
import { commands, USAGE } from './admin_commands.ts'
import { UsageError } from './admin_values.ts'
import { openDatabase } from './local_database.ts'

/** The operator's command: `npm run admin -- account create --name acme`. */
async function main(words: string[]): Promise<void> {
  const { positionals, values } = readWords(words)
  const name = positionals.slice(0, 2).join(' ')
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!command) throw new UsageError(name ? `No such command: ${name}` : 'Which command?')
  const rest = positionals.slice(2)
  // What would be ignored may be what mattered: the second of two keys to revoke, an account to list.
  const foreign = Object.keys(values).filter(option => !command.options.includes(option))
  const [unknown] = [...foreign.map(option => `--${option}`), ...rest.slice(command.words)]
  if (unknown !== undefined) throw new UsageError(`${name} takes no ${unknown}`)

  const database = await openDatabase(readConfig(), true)
  try {
    if (!readConfig().DATABASE_URL) await migrate(database.config.DATABASE_URL as string)
    const foundation = await layFoundation(database.config, createLog('silent'))
    try {
      await command.run(foundation, values, rest)
    } finally {
      await foundation.pool.end()
    }
  } finally {
    await database.stop()
  }
}

const text = { type: 'string' } as const
const flag = { type: 'boolean' } as const
const options = {
  ...{ account: text, domain: text, expires: text, limit: text, name: text, plan: text, reason: text },
  ...{ 'add-credits': text, 'per-day': text, 'per-month': text },
  ...{ 'sending-only': flag, verified: flag },
}

function readWords(words: string[]) {
  try {
    return parseArgs({ args: words, allowPositionals: true, options })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

// Whoever reads the output may have seen enough: captured list | head -1
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

await main(process.argv.slice(2)).catch(error => {
  const isClear = error instanceof StartupError || error instanceof ApiError || error instanceof UsageError
  console.error(isClear ? error.message : error)
  if (error instanceof UsageError) console.error(USAGE)
  process.exitCode = 1
})

import { parseArgs } from 'node:util'
import { layFoundation } from '../flows/run_process.ts'
import { readConfig } from '../lib/config.ts'
import { ApiError, StartupError } from '../lib/errors.ts'
import { createLog } from '../lib/log.ts'
import { migrate } from '../sql/migrate.ts'
import { type Command, commands, USAGE, UsageError } from './admin_commands.ts'
import { openDatabase } from './local_database.ts'

/** The operator's command: `npm run admin -- account create --name acme`. */
async function main(words: string[]): Promise<void> {
  const { positionals, values } = readWords(words)
  const [noun = '', verb = '', ...rest] = positionals
  const command: Command | undefined = commands[`${noun} ${verb}`]
  if (!command) throw new UsageError(`No such command: ${noun} ${verb}`)

  const database = await openDatabase(readConfig(), true)
  try {
    if (!readConfig().DATABASE_URL) await migrate(database.config.DATABASE_URL as string)
    const foundation = await layFoundation(database.config, createLog('silent'))
    try {
      await command(foundation, values, rest)
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
  ...{ account: text, domain: text, expires: text, limit: text, name: text, plan: text },
  ...{ 'sending-only': flag, verified: flag },
}

function readWords(words: string[]) {
  try {
    return parseArgs({ args: words, allowPositionals: true, options })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

await main(process.argv.slice(2)).catch(error => {
  const isClear = error instanceof StartupError || error instanceof ApiError || error instanceof UsageError
  console.error(isClear ? error.message : error)
  if (error instanceof UsageError) console.error(USAGE)
  process.exitCode = 1
})

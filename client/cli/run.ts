import { VERSION } from '../source/generated/version.ts'
import type { Mailbrook } from '../source/index.ts'
import { type Call, type Command, DEFAULT_URL, type Values } from './command.ts'
import { COMMANDS, findCommand } from './commands.ts'
import { cliError, exitCodeOf, shownError } from './errors.ts'
import { readArguments } from './input/arguments.ts'
import { nearest } from './input/nearest.ts'
import { Profiles } from './input/profiles.ts'
import { complete } from './print/completion.ts'
import { commandHelp, listHelp } from './print/help.ts'
import { Output } from './print/output.ts'

type Environment = Record<string, string | undefined>

const INTERRUPTED = 130

/** Runs one command; returns the exit code of the process. */
export async function run(given: string[], environment: Environment): Promise<number> {
  const args = given[0] === 'help' ? [...given.slice(1), '--help'] : given
  const interrupted = new AbortController()
  const interrupt = () => interrupted.abort()
  process.once('SIGINT', interrupt)
  // Used for errors until the arguments, which may ask for JSON, are parsed.
  let output = new Output(process, { json: args.includes('--json') })
  try {
    if (args[0] === '__complete') {
      for (const word of complete(COMMANDS, args.slice(1))) output.text(`${word}\n`)
      return 0
    }
    const { command, rest } = findCommand(args)
    if (!command || rest.includes('--help') || rest.includes('-h')) return printHelp(output, command, args)
    const { operands, values } = readArguments(command, rest)
    output = new Output(process, values)
    // Help and completion do not load the library, so that they start faster.
    const library = await import('../source/mailbrook.ts')
    const connected = connect(values, environment, library.Mailbrook)
    await command.run({ operands, values, output, signal: interrupted.signal, ...connected })
    return 0
  } catch (error) {
    if (interrupted.signal.aborted) return INTERRUPTED
    const shown = shownError(error)
    output.error(shown)
    return exitCodeOf(shown)
  } finally {
    process.removeListener('SIGINT', interrupt)
  }
}

function printHelp(output: Output, command: Command | null, args: string[]): number {
  if (command) output.text(commandHelp(command))
  else if (args[0] === '--version') output.text(`${VERSION}\n`)
  else output.text(listHelp(COMMANDS, wordsOf(args)))
  return 0
}

/** Returns the words that the listed commands must begin with. @throws {MailbrookError} if no command does */
function wordsOf(args: string[]): string[] {
  const words = args.filter(arg => arg !== '--help' && arg !== '-h')
  const option = words.find(word => word.startsWith('-'))
  if (option) throw cliError(`Options come after the command: \`mailbrook COMMAND ${option}\`.`)
  const begins = COMMANDS.some(({ words: own }) => words.every((word, n) => own[n] === word))
  if (begins) return words
  const near = nearest(
    words.join(' '),
    COMMANDS.map(({ words }) => words.slice(0, args.length).join(' ')),
  )
  throw cliError(
    `There is no command \`mailbrook ${words.join(' ')}\`.${near ? ` Did you mean \`mailbrook ${near}\`?` : ''}`,
  )
}

/**
 * Reads the key and the server from options, the environment or a profile, in this order. The key of a profile is sent only to
 * the server of the profile, or to that of `--base-url`.
 */
function connect(
  values: Values,
  environment: Environment,
  Client: typeof Mailbrook,
): Pick<Call, 'address' | 'client' | 'connection' | 'environment' | 'profiles'> {
  const profiles = new Profiles(environment)
  const { api_key, base_url, profile } = values as Record<string, string | undefined>
  const connection = () => {
    const stored = profiles.find(profile)
    // A profile that is named takes precedence over the environment.
    const apiKey = api_key ?? (profile === undefined ? environment.MAILBROOK_API_KEY : undefined)
    const isOwn = apiKey !== undefined && profile === undefined
    const address = base_url ?? (isOwn ? environment.MAILBROOK_BASE_URL : undefined) ?? stored?.base_url
    if (apiKey === undefined && !stored)
      throw cliError('There is no API key: run `mailbrook login`, set MAILBROOK_API_KEY or give `--api-key`.')
    return { apiKey: apiKey ?? (stored?.api_key as string), baseUrl: address ?? DEFAULT_URL }
  }
  const address = () => {
    // The same server as that of requests, if there is a key for them.
    const hasKey = Boolean(api_key ?? environment.MAILBROOK_API_KEY ?? profiles.find(profile))
    return hasKey ? connection().baseUrl : (base_url ?? environment.MAILBROOK_BASE_URL ?? DEFAULT_URL)
  }
  const client = () => {
    const { timeout, retries } = values as { timeout?: number; retries?: number }
    return new Client({
      ...connection(),
      ...(timeout === undefined ? {} : { timeout: timeout * 1000 }),
      ...(retries === undefined ? {} : { retries }),
    })
  }
  return { profiles, environment, address, connection, client }
}

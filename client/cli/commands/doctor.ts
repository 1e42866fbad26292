import { MailbrookError } from '../../source/error.ts'
import { VERSION } from '../../source/generated/version.ts'
import type { Domain, Mailbrook } from '../../source/index.ts'
import type { Call, Command } from '../command.ts'
import { outcomeError } from '../errors.ts'
import { accessOf } from '../input/access.ts'

/** `fix`: what to do about it. */
type Finding = { level: 'ok' | 'warning' | 'problem'; check: string; finding: string; fix?: string }

const PATIENCE_MS = 10_000

export const doctorCommands: Command[] = [
  {
    words: ['doctor'],
    summary: 'Check the server, the key and the DNS records of your domains',
    description:
      'The exit code is 1 if there is a problem. Operators run `npm run doctor` on the server, which checks more.',
    operands: [],
    options: [],
    examples: ['mailbrook doctor', 'mailbrook doctor --profile staging --json'],
    run: runDoctor,
  },
]

async function runDoctor(call: Call): Promise<void> {
  const { output, signal } = call
  const findings: Finding[] = []
  const tell = (finding: Finding): void => {
    findings.push(finding)
    output.items([finding])
  }
  const address = call.address()
  const server = await checkServer(address, signal)
  tell(server)
  if (server.level !== 'problem') {
    const client = call.client()
    tell(await checkVersion(client, signal))
    const { access, ...key } = await checkKey(client, signal)
    tell(key)
    if (access === 'full') {
      for await (const { id } of client.domains.list({}, { signal }))
        for (const finding of checkDomain(await client.domains.get(id, { signal }))) tell(finding)
    }
  }
  const problems = findings.filter(({ level }) => level === 'problem').length
  if (problems > 0)
    throw outcomeError('problems_found', `${problems} ${problems === 1 ? 'problem was' : 'problems were'} found.`)
}

async function checkServer(address: string, signal: AbortSignal): Promise<Finding> {
  const check = 'server'
  try {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)])
    const response = await fetch(new URL('/readyz', address), { signal: limit })
    const { status, reason } = (await response.json()) as { status?: string; reason?: string }
    if (status === 'ok') return { level: 'ok', check, finding: `${address} is ready.` }
    return { level: 'problem', check, finding: `${address} is not ready: ${reason ?? 'it gives no reason'}.` }
  } catch (error) {
    const { cause, message } = error as Error & { cause?: Error }
    const fix = 'Check the address (--base-url, MAILBROOK_BASE_URL or the profile), and that the server runs.'
    return {
      level: 'problem',
      check,
      finding: `${address} is not a Mailbrook server: ${cause?.message ?? message}.`,
      fix,
    }
  }
}

async function checkVersion(client: Mailbrook, signal: AbortSignal): Promise<Finding> {
  const check = 'version'
  const { info } = await client.request<{ info: { version: string } }>('GET', '/openapi.json', {}, { signal })
  if (info.version === VERSION)
    return { level: 'ok', check, finding: `The server and this program have version ${VERSION}.` }
  const finding = `The server has version ${info.version}, and this program has version ${VERSION}.`
  return { level: 'warning', check, finding, fix: `npm install -g mailbrook@${info.version}` }
}

/** `access` is missing if the key does not work. */
async function checkKey(client: Mailbrook, signal: AbortSignal): Promise<Finding & { access?: string }> {
  const check = 'key'
  try {
    const access = await accessOf(client, signal)
    return { level: 'ok', check, finding: `The key works, and has ${access} access.`, access }
  } catch (error) {
    if (!(error instanceof MailbrookError)) throw error
    return { level: 'problem', check, finding: error.message, fix: 'mailbrook login' }
  }
}

/** Statuses of domains that can send although records are missing. */
const SENDABLE = ['partially_verified', 'partially_failed']

/** Returns one finding for the status of a domain, and one for each record that is not verified. */
function checkDomain({ id, name, status, records }: Domain): Finding[] {
  const check = `domain ${name}`
  if (status === 'verified') return [{ level: 'ok', check, finding: 'It is verified.' }]
  const missing = records.filter(record => record.status !== 'verified')
  const again = `mailbrook domains verify ${id} --wait`
  return [
    SENDABLE.includes(status)
      ? {
          level: 'warning',
          check,
          finding: `It is \`${status}\`: mail is sent from it, but records are missing.`,
          fix: again,
        }
      : { level: 'problem', check, finding: `It is \`${status}\`: nothing can be sent from it.`, fix: again },
    ...missing.map(({ record, type, name, value, status, problem }) => ({
      ...{
        level: 'warning' as const,
        check,
        finding: `The ${record} record is \`${status}\`${problem ? `: ${problem}` : '.'}`,
      },
      fix: `${name} ${type} ${value}`,
    })),
  ]
}

import { existsSync } from 'node:fs'
import { isIP } from 'node:net'
import { parseArgs } from 'node:util'
import { type Config, ConfigError, readConfig } from '#lib/config.ts'
import { about, type Check, exitCode, type Finding, formatFindings, runChecks } from '#lib/doctor/finding.ts'
import { checkDisk, checkNode, checkTimeService } from '#lib/doctor/host.ts'
import { findAddresses, type Site } from '#lib/doctor/site.ts'
import { siteChecks } from '#lib/doctor/site_checks.ts'
import { createDns } from '#lib/net/dns.ts'
import { DATA_DIRECTORY } from '#workers/embedded_postgres/local_database.ts'
import { openPatient } from './doctor_database.ts'

const USAGE = 'npm run doctor -- [--json] [--address ADDRESS ...] [--port25 HOST[:PORT]]'

/** Time limit of each check. All checks run at once. With everything before and after them, the doctor takes at most 15 s. */
const DEADLINE_MS = 8_000
const DNS_TIMES = { try_ms: 1_500, tries: 2, deadline_ms: 4_000 }

type Options = { json: boolean; addresses: string[]; server: string | undefined }

class UsageError extends Error {}

/** `npm run doctor`: checks everything that mail depends on, and says how to fix problems. It changes nothing. */
async function main(words: string[]): Promise<void> {
  const options = readOptions(words)
  const findings = await examine(options)
  console.log(options.json ? JSON.stringify(findings, null, 2) : formatFindings(findings))
  process.exit(exitCode(findings)) // a check that ran out of time may still be waiting
}

async function examine(options: Options): Promise<Finding[]> {
  const config = readConfigOrFindings()
  if (Array.isArray(config)) return [checkNode(), ...config, ...(await runChecks(hostChecks(), DEADLINE_MS))]
  const dns = createDns(config.DNS_SERVERS, DNS_TIMES)
  const [patient, addresses] = await Promise.all([
    openPatient(config),
    findAddresses(options.addresses, config.HELO_NAME, dns),
  ])
  const site: Site = { config: patient.config, dns, addresses, transports: patient.transports }
  const checks = [...hostChecks(), ...patient.checks(site), ...siteChecks(site, options.server)]
  const known = [checkNode(), about('configuration').ok('Every variable is valid.'), ...patient.findings]
  const findings = [...known, ...(await runChecks(checks, DEADLINE_MS))]
  await patient.close()
  return findings
}

function hostChecks(): Check[] {
  const disk = (what: string, directory: string): Check => {
    return { check: `disk of ${what}`, run: async () => [await checkDisk(what, directory)] }
  }
  return [
    { check: 'clock of this host', run: async () => [await checkTimeService()] },
    ...(existsSync(DATA_DIRECTORY) ? [disk('.data', DATA_DIRECTORY)] : []),
    disk('the working directory', process.cwd()),
  ]
}

/** Returns the configuration, or a finding for each invalid variable. */
function readConfigOrFindings(): Config | Finding[] {
  try {
    return readConfig()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const report = about('configuration')
    return error.message.split('\n').map(line => report.problem(line, `${line.split(':')[0]}=...   (see .env.example)`))
  }
}

function readOptions(words: string[]): Options {
  const { json, address, port25 } = readWords(words)
  const wrong = address.find(text => !isIP(text))
  if (wrong !== undefined) throw new UsageError(`--address must be an IP address such as 203.0.113.5, not ${wrong}`)
  if (port25 !== undefined && !URL.canParse(`smtp://${port25}`)) {
    throw new UsageError(`--port25 must be a server such as mx.acme.com, not ${port25}`)
  }
  return { json, addresses: address, server: port25 }
}

function readWords(args: string[]) {
  const address = { type: 'string', multiple: true, default: [] as string[] } as const
  const options = { json: { type: 'boolean', default: false }, port25: { type: 'string' }, address } as const
  try {
    return parseArgs({ args, options }).values
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

await main(process.argv.slice(2)).catch(error => {
  console.error(error instanceof UsageError ? `${error.message}\n${USAGE}` : error)
  process.exitCode = 2
})

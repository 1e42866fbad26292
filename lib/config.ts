import { z } from 'zod'
import { outgoing } from './config/outgoing.ts'
import { receiving, verdicts } from './config/receiving.ts'
import { connections, sending } from './config/sending.ts'
import { limits, server, storage } from './config/server.ts'
import { StartupError } from './errors.ts'

/**
 * Phrases such as "in 1 day" are parsed in the time zone of the process (lib/sending/schedule.ts). In a zone with daylight saving
 * time they would be an hour off when clocks change.
 */
process.env.TZ = 'UTC'

/** The environment is invalid. The message names every wrong variable, one per line. */
export class ConfigError extends StartupError {}

/**
 * All variables of the environment. Their descriptions are in Markdown: `npm run docs` generates docs/configuration.md and
 * .env.example from them. `unset` describes what applies without a value. `range` lists the allowed values if they cannot be
 * derived from the schema or depend on the host.
 */
export const Environment = z.object({
  ...server,
  ...sending,
  ...connections,
  ...receiving,
  ...verdicts,
  ...limits,
  ...storage,
  ...outgoing,
})

export type Config = Omit<z.output<typeof Environment>, 'BASE_URL' | 'SERVER_DOMAIN'> & {
  BASE_URL: string
  SERVER_DOMAIN: string
}

/** Says what a value must be, unless its schema does. */
function requirement(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type') return `must be ${issue.expected === 'int' ? 'an integer' : 'a number'}`
  if (issue.code === 'too_small') return `must be at least ${issue.minimum}`
  if (issue.code === 'too_big') return `must be at most ${issue.maximum}`
  if (issue.code === 'invalid_value') return `must be one of: ${issue.values.join(', ')}`
  return undefined
}

/**
 * Reads the configuration of this process from its environment alone.
 *
 * @throws {ConfigError} naming all wrong variables at once
 */
export function readConfig(environment: Record<string, string | undefined> = process.env): Config {
  // A value of nothing but spaces would otherwise be the number 0, which turns some limits off.
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value?.trim() !== ''))
  const { success, data, error } = Environment.safeParse(given, { error: requirement })
  if (!success) {
    throw new ConfigError(error.issues.map(issue => `${issue.path.join('.')}: ${issue.message}`).join('\n'))
  }
  const missing = findMissing(data)
  if (missing.length > 0) throw new ConfigError(missing.join('\n'))
  return {
    ...data,
    BASE_URL: data.BASE_URL ?? `http://localhost:${data.PORT}`,
    SERVER_DOMAIN: data.SERVER_DOMAIN ?? data.HELO_NAME,
  }
}

/** Returns a line for each variable that another one requires or rules out. */
function findMissing(data: z.output<typeof Environment>): string[] {
  const { SMTP_TLS_CERT: certificate, SMTP_TLS_KEY: key, MAIL_TRANSPORT: transport, RELAY_URL: relay } = data
  const lines: [unknown, string][] = [
    [
      data.DATABASE_URL && !data.SECRET_KEY,
      'SECRET_KEY: required with DATABASE_URL, for example from: openssl rand -base64 32',
    ],
    [
      !certificate && (data.SUBMISSION_PORT || key),
      `SMTP_TLS_CERT: required with ${key ? 'SMTP_TLS_KEY' : 'SUBMISSION_PORT'}`,
    ],
    [certificate && !key, 'SMTP_TLS_KEY: required with SMTP_TLS_CERT'],
    [transport === 'relay' && !relay, 'RELAY_URL: required with MAIL_TRANSPORT=relay'],
    [transport.includes(':') && relay, 'RELAY_URL: MAIL_TRANSPORT lists the relays already; set MAIL_TRANSPORT=relay'],
    [data.AI_URL && !data.AI_MODEL, 'AI_MODEL: required with AI_URL'],
  ]
  return lines.filter(([isWrong]) => isWrong).map(([, line]) => line)
}

import { availableParallelism, hostname } from 'node:os'
import { z } from 'zod'
import {
  blobStore,
  clamd,
  count,
  databaseUrl,
  domain,
  httpUrl,
  listenPort,
  networks,
  percent,
  port,
  ports,
  relays,
  servers,
  transport,
} from './config_values.ts'
import { StartupError } from './errors.ts'

/**
 * Nothing is told in the time of a place. Phrases such as "in 1 day" are read by way of it all the same (lib/sending/schedule.ts),
 * and would be an hour off where clocks are set forward.
 */
process.env.TZ = 'UTC'

/** What the process was told by its environment is wrong. The message names every wrong key, one line each. */
export class ConfigError extends StartupError {}

/** Every key of the environment that is read, with its meaning and default. `.env.example` is checked against it. */
export const Environment = z.object({
  DATABASE_URL: databaseUrl
    .optional()
    .describe('Postgres 16 or newer. Unset: npm start runs an embedded one in .data/.'),
  SECRET_KEY: z
    .string()
    .min(32, 'must have at least 32 characters, for example from: openssl rand -base64 32')
    .optional()
    .describe('Encrypts stored keys and signs tokens. Required with DATABASE_URL, else generated into .data/.'),
  PORT: port.default(3000).describe('Port of the HTTP API.'),
  BASE_URL: httpUrl
    .optional()
    .describe('Public URL of this server; the API is BASE_URL + /api. Default http://localhost:PORT.'),
  MAIL_TRANSPORT: transport
    .default('capture')
    .describe(
      'capture (store, send nothing), direct (to the recipients’ servers), or a relay: smtp://user:pass@host:port, smtps://...; several in order, separated by commas.',
    ),
  RELAY_URL: relays
    .optional()
    .describe(
      'The same list, for MAIL_TRANSPORT=relay and for domains that the operator lets leave by it. Default: the URLs of MAIL_TRANSPORT.',
    ),
  SIMULATOR_DOMAIN: domain
    .default('simulator.internal')
    .describe('Mail to delivered@, bounced@, complained@ or suppressed@ here is simulated and never leaves.'),
  HELO_NAME: z.string().min(1).default(hostname()).describe('Name given in EHLO. Default: this host’s name.'),
  SERVER_DOMAIN: domain
    .optional()
    .describe(
      'Your domain that the DNS records of senders lead to: inbound., feedback. and links. below it, and its SPF record. Default: HELO_NAME.',
    ),
  RETURN_PATH_DOMAIN: domain
    .optional()
    .describe(
      'Domain of the envelope sender (where bounces return) while the return path of the sender is not verified. Default: the domain of the From address.',
    ),
  DNS_SERVERS: servers
    .optional()
    .describe('Name servers to ask: 9.9.9.9,127.0.0.1:5353 and so on. Default: the system’s.'),
  DKIM_ROTATE_DAYS: count
    .max(3650)
    .default(0)
    .describe('Days after which a domain is given new DKIM keys, for its owner to publish. 0: only when asked to.'),
  IN_DOUBT: z
    .enum(['resend', 'hold'])
    .default('resend')
    .describe('A reply that never came after the final dot: resend once after 15 minutes, or hold for a person.'),
  SENDS_PER_MINUTE: count
    .default(60)
    .describe('Send requests per minute and client address (an IPv6 /64 is one). 0 turns the limit off.'),
  PAUSE_BOUNCE_RATE: percent
    .default(10)
    .describe('Percent of the recipients of 24 hours that bounced: over it an account or domain is paused. 0: never.'),
  PAUSE_COMPLAINT_RATE: percent
    .default(0.5)
    .describe(
      'Percent of the recipients of 24 hours that complained: over it an account or domain is paused. 0: never.',
    ),
  BATCH_DEADLINE_MS: count
    .min(100)
    .max(100_000)
    .default(25_000)
    .describe('How long a batch may take; what is not stored by then is not sent. Below the timeouts of proxies.'),
  TRUSTED_PROXIES: networks
    .optional()
    .describe('Whose X-Forwarded-For tells the client address: 10.0.0.0/8,fd00::1 and so on. Default: nobody’s.'),
  FETCH_PORTS: ports.default([80, 443, 8080, 8443]).describe('Ports that attachments and webhooks by URL may be on.'),
  FETCH_ALLOW: networks
    .optional()
    .describe('Addresses and networks they may be on although not public: 10.1.0.0/16 and so on. Default: none.'),
  FETCH_DENY: networks
    .optional()
    .describe('Addresses and networks they may never be on. What is not public is denied.'),
  CLOUDFLARE_API: httpUrl
    .default('https://api.cloudflare.com/client/v4')
    .describe('API that writes DNS records at Cloudflare, for callers who ask for it.'),
  GODADDY_API: httpUrl.default('https://api.godaddy.com/v1').describe('The same at GoDaddy.'),
  NAMECHEAP_API: httpUrl.default('https://api.namecheap.com/xml.response').describe('The same at Namecheap.'),
  NAMECHEAP_CLIENT_IP: z
    .ipv4()
    .optional()
    .describe('IPv4 address that Namecheap sees this server at. Default: its own, if it has a public one.'),
  BLOB_STORE: blobStore
    .default('postgres')
    .describe(
      'Where attachments lie: postgres, or s3://ACCESS_KEY:SECRET@bucket/prefix?endpoint=https://...&region=...',
    ),
  SEND_CONNECTIONS: count.min(1).max(1000).default(40).describe('SMTP connections of one worker, to each relay.'),
  DESTINATION_CONNECTIONS: count
    .min(1)
    .max(1000)
    .default(20)
    .describe('Of these to one mailbox provider at most, with MAIL_TRANSPORT=direct.'),
  DESTINATION_RATE: count
    .default(0)
    .describe('Messages a minute from one worker to one mailbox provider, with MAIL_TRANSPORT=direct. 0: no limit.'),
  MX_PORT: port.default(25).describe('Port of the recipients’ mail servers, with MAIL_TRANSPORT=direct.'),
  MX_ALLOW: networks
    .optional()
    .describe('Addresses and networks that mail servers may be on although not public. Default: none.'),
  SMTP_PORT: listenPort.default(2525).describe('Port that mail is received on; forward 25 to it. 0: any that is free.'),
  SUBMISSION_PORT: listenPort
    .default(0)
    .describe('Port that mail to send is taken on by SMTP, with an API key as password. 0: none.'),
  OPERATOR_ACCOUNT: z
    .string()
    .min(1)
    .optional()
    .describe('Account, by name or id, that gets mail to `postmaster` without a domain. Default: the first one.'),
  SMTP_TLS_CERT: z
    .string()
    .optional()
    .describe(
      'File with the certificate for STARTTLS (PEM, with its chain), read again when it changes. Default: no TLS.',
    ),
  SMTP_TLS_KEY: z.string().optional().describe('File with its private key.'),
  SMTP_CONNECTIONS: count.min(1).max(10_000).default(200).describe('SMTP connections of one process at once.'),
  SMTP_CONNECTIONS_PER_ADDRESS: count
    .min(1)
    .max(10_000)
    .default(20)
    .describe('The same of one client address (an IPv6 /64 is one).'),
  SMTP_GREETING_DELAY_MS: count
    .max(30_000)
    .default(100)
    .describe('How long a client must wait for the greeting; one that talks before it is refused. 0: not at all.'),
  RSPAMD_URL: httpUrl
    .optional()
    .describe('rspamd that judges received mail: http://127.0.0.1:11333 (its normal worker). Default: nobody does.'),
  CLAMAV: clamd
    .optional()
    .describe(
      'ClamAV’s clamd that looks for viruses: unix:/run/clamav/clamd.ctl, or tcp:127.0.0.1:3310. Default: nobody does.',
    ),
  AI_URL: httpUrl
    .optional()
    .describe(
      'API that tells what replies mean, as OpenAI’s speaks: https://api.openai.com/v1 and so on. Default: none, phrases do.',
    ),
  AI_KEY: z.string().min(1).optional().describe('Key of it, sent as a bearer token.'),
  AI_MODEL: z.string().min(1).optional().describe('Model that is asked. Required with AI_URL.'),
  WEB_CONCURRENCY: count
    .min(1)
    .max(availableParallelism() * 4)
    .default(1)
    .describe('Web processes forked on this host.'),
  LOG_RETENTION_DAYS: count
    .max(3650)
    .default(30)
    .describe('Days that the log of API requests is kept (GET /logs). 0: no request is logged.'),
  RAW_RETENTION_DAYS: count
    .max(3650)
    .default(30)
    .describe('Days that received mail is kept as it came; what was read of it stays. 0: for ever.'),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('Least level logged.'),
})

export type Config = Omit<z.output<typeof Environment>, 'BASE_URL' | 'SERVER_DOMAIN'> & {
  BASE_URL: string
  SERVER_DOMAIN: string
}

/**
 * The configuration of this process, read from its environment only.
 *
 * @throws {ConfigError} naming every key that is wrong, all at once
 */
export function readConfig(environment: Record<string, string | undefined> = process.env): Config {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''))
  const { success, data, error } = Environment.safeParse(given)
  if (!success) {
    throw new ConfigError(error.issues.map(issue => `${issue.path.join('.')}: ${issue.message}`).join('\n'))
  }
  if (data.DATABASE_URL && !data.SECRET_KEY) {
    throw new ConfigError('SECRET_KEY: required with DATABASE_URL, for example from: openssl rand -base64 32')
  }
  if (!data.SMTP_TLS_CERT && (data.SUBMISSION_PORT || data.SMTP_TLS_KEY)) {
    throw new ConfigError(`SMTP_TLS_CERT: required with ${data.SMTP_TLS_KEY ? 'SMTP_TLS_KEY' : 'SUBMISSION_PORT'}`)
  }
  if (data.SMTP_TLS_CERT && !data.SMTP_TLS_KEY) throw new ConfigError('SMTP_TLS_KEY: required with SMTP_TLS_CERT')
  if (data.MAIL_TRANSPORT === 'relay' && !data.RELAY_URL) {
    throw new ConfigError('RELAY_URL: required with MAIL_TRANSPORT=relay')
  }
  if (data.MAIL_TRANSPORT.includes(':') && data.RELAY_URL) {
    throw new ConfigError('RELAY_URL: MAIL_TRANSPORT lists the relays already; say MAIL_TRANSPORT=relay')
  }
  if (data.AI_URL && !data.AI_MODEL) {
    throw new ConfigError('AI_MODEL: required with AI_URL')
  }
  return {
    ...data,
    BASE_URL: data.BASE_URL ?? `http://localhost:${data.PORT}`,
    SERVER_DOMAIN: data.SERVER_DOMAIN ?? data.HELO_NAME,
  }
}

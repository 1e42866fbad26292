import { availableParallelism } from 'node:os'
import { z } from 'zod'
import { count, databaseUrl, httpUrl, networks, percent, port } from './values.ts'

/** The database and the HTTP API. */
export const server = {
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
}

/** Limits of requests and of senders. */
export const limits = {
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
}

/** How the processes run, and how long they keep what they log. */
export const operation = {
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
  EMAIL_RETENTION_DAYS: count
    .max(3650)
    .default(0)
    .describe('Days that contents, recipients and events of sent mail are kept; what counts stays. 0: for ever.'),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('Least level logged.'),
}

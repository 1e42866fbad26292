import { availableParallelism } from 'node:os'
import { z } from 'zod'
import { baseUrl, blobStore, count, databaseUrl, networks, percent, port } from './values.ts'

/** The database and the HTTP API. */
export const server = {
  DATABASE_URL: databaseUrl.optional().meta({
    description:
      'URL of a Postgres database, version 16 or newer. For TLS and poolers, see "Connections to Postgres" in operating.md.',
    unset: 'an embedded Postgres in `.data/`, with `npm start`',
  }),
  SECRET_KEY: z
    .string()
    .min(32, 'must have at least 32 characters, for example from: openssl rand -base64 32')
    .optional()
    .meta({
      description:
        'Seals stored keys and signs tokens: at least 32 characters, for example from `openssl rand -base64 32`. Required with `DATABASE_URL`. Back it up together with the database: without it, the API keys and DKIM keys stored there are lost.',
      unset: 'generated into `.data/`',
    }),
  PORT: port.default(3000).describe('Port of the HTTP API.'),
  BASE_URL: baseUrl.optional().meta({
    description:
      'Public URL of this server. The base URL of the API is this with `/api` after it. Use a host name of its own: the dashboard and `/docs` do not work below a path.',
    unset: '`http://localhost:PORT`',
  }),
  WEB_CONCURRENCY: count
    .min(1)
    .max(availableParallelism() * 4)
    .default(1)
    .meta({
      description: 'Web processes that `node workers/web.ts` forks.',
      range: 'An integer from 1 to four times the number of CPUs.',
    }),
  TRUSTED_PROXIES: networks.optional().meta({
    description:
      'Addresses and networks of the proxies in front of this server, such as `10.0.0.0/8,fd00::1`. Their `X-Forwarded-For` header gives the address of the client.',
    unset: 'none',
  }),
  ASN_DATABASE: z.string().optional().meta({
    description:
      'File with the networks of autonomous systems in MaxMind’s format, such as GeoLite2-ASN.mmdb. Web processes read it when they start. With it, opens and clicks from networks of Proofpoint, Mimecast and Cisco within 10 minutes of the delivery count as those of machines.',
    unset: 'these networks are not recognized',
  }),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe(
      'Lowest level that is logged: `fatal`, `error`, `warn`, `info`, `debug`, `trace`, or `silent` for nothing. Each record is one line of JSON, without keys and without the bodies of requests.',
    ),
}

/** Limits of requests and of senders. */
export const limits = {
  SENDS_PER_MINUTE: count
    .default(60)
    .describe('Send requests per minute from one client address. An IPv6 /64 counts as one address. `0`: no limit.'),
  BATCH_DEADLINE_MS: count
    .min(100)
    .max(100_000)
    .default(25_000)
    .describe(
      'Time limit for storing a batch that is too long for one commit, in milliseconds. Emails that are not stored by then are not sent. Keep it below the timeouts of clients and proxies.',
    ),
  CONTACT_WRITE_MS: count
    .min(100)
    .max(100_000)
    .default(10_000)
    .describe(
      'Time limit for storing a batch of contacts, in milliseconds. A batch that takes longer is rolled back and fails with `contacts_timeout`. Keep it below the timeouts of clients and proxies.',
    ),
  IMPORT_MAX_MB: count.min(1).max(10_000).default(500).describe('Size limit of a contacts file, in MB.'),
  PAUSE_BOUNCE_RATE: percent
    .default(10)
    .describe(
      'Bounce rate, in percent of the recipients of the last 24 hours, above which the account or the domain is paused. `0`: never.',
    ),
  PAUSE_COMPLAINT_RATE: percent
    .default(0.5)
    .describe(
      'Complaint rate, in percent of the recipients of the last 24 hours, above which the account or the domain is paused. `0`: never.',
    ),
}

/** Storage of files, and how long mail and logs are kept. */
export const storage = {
  BLOB_STORE: blobStore
    .default('postgres')
    .describe(
      'Where attachments and received messages are stored: `postgres`, or the URL of a bucket: `s3://ACCESS_KEY:SECRET@bucket/prefix?endpoint=https://...&region=...`.',
    ),
  EMAIL_RETENTION_DAYS: count
    .max(3650)
    .default(0)
    .describe(
      'Days after which contents, files, recipients and events of sent mail are deleted. Its status and its count for quotas are kept. `0`: never.',
    ),
  RAW_RETENTION_DAYS: count
    .max(3650)
    .default(30)
    .describe('Days after which the raw message of a received email is deleted. The parsed email is kept. `0`: never.'),
  LOG_RETENTION_DAYS: count
    .max(3650)
    .default(30)
    .describe(
      'Days after which the records of API requests (`GET /api/logs`) are deleted. `0`: requests are not recorded.',
    ),
}

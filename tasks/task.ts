import type { Advancer } from '#flows/automations/engine/advancer.ts'
import type { Importer } from '#flows/contacts/import/importer.ts'
import type { Sender } from '#flows/delivery/sender.ts'
import type { Blobs } from '#flows/files/blobs.ts'
import type { WebhookSender } from '#flows/webhooks/sender.ts'
import type { Config } from '#lib/config.ts'
import type { JobName, JobPayload } from '#lib/jobs.ts'
import type { Log } from '#lib/log.ts'
import type { Dns } from '#lib/net/dns.ts'
import type { Secrets } from '#lib/secrets.ts'
import type { Pool } from '#sql/pool.ts'

/** Services that tasks use. */
export type Work = {
  config: Config
  pool: Pool
  log: Log
  secrets: Secrets
  sender: Sender
  webhooks: WebhookSender
  importer: Importer
  automations: Advancer
  blobs: Blobs
  dns: Dns
}

/** Throws if the job must be retried. Returns if nothing is left to do, even if the result is a failure. May run twice. */
export type Task<Name extends JobName> = (payload: JobPayload<Name>, work: Work) => Promise<void>

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

/** What tasks work with. */
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

/** Throws to be tried again; returns when it is settled, even if it is settled badly. May run twice. */
export type Task<Name extends JobName> = (payload: JobPayload<Name>, work: Work) => Promise<void>

import { createReadTokenKeys } from '#flows/process/token_keys.ts'
import type { Config } from '#lib/config.ts'
import type { Secrets } from '#lib/secrets.ts'
import { writeRecipientTokens } from '#lib/tracking/tracking_tokens.ts'
import type { Pool } from '#sql/pool.ts'
import type { PersonalParts } from './render_email.ts'

/** `tracking_host`: null while it is not verified. */
type TrackedEmail = { account_id: string; tracking_host: string | null }

/** Returns the origin of the URLs of tracked links and pixels. */
export function trackingOrigin(tracking_host: string | null, { BASE_URL }: Pick<Config, 'BASE_URL'>): string {
  return tracking_host === null ? BASE_URL : `https://${tracking_host}`
}

/**
 * Returns the origin, keys and tokens that report opens, clicks and answers of a recipient, by the id of the delivery.
 */
export type FindTrackedBy = (email: TrackedEmail, delivery: { id: string }) => Promise<PersonalParts['tracked_by']>

export function createTrackedBy({ pool, secrets, config }: Dependencies): FindTrackedBy {
  const readKeys = createReadTokenKeys({ pool, secrets })
  return async ({ account_id, tracking_host }, { id: delivery_id }) => {
    const keys = await readKeys()
    const origin = trackingOrigin(tracking_host, config)
    return { origin, keys, tokens: writeRecipientTokens({ account_id, delivery_id }, keys) }
  }
}

type Dependencies = { pool: Pool; secrets: Secrets; config: Pick<Config, 'BASE_URL'> }

import { TtlCache } from '#lib/async/ttl_cache.ts'
import type { Secrets } from '#lib/secrets.ts'
import { createSignEvent, newSigningSecret, type SignEvent } from '#lib/webhooks/signature.ts'
import type { WebhookId } from '#sql/webhooks/due_events.ts'

/** Creates a secret; returns it in plain and sealed form. */
export function makeSigningSecret(secrets: Secrets, webhook: WebhookId): { plain: string; sealed: Buffer } {
  const plain = newSigningSecret()
  return { plain, sealed: secrets.seal(Buffer.from(plain), contextOf(webhook)) }
}

type SignedWebhook = WebhookId & { signing_secret: Buffer }

/** Returns a function that signs for a webhook with its current secret. Throws if the secret cannot be opened. */
export function openSigner(secrets: Secrets, webhook: SignedWebhook): SignEvent {
  return createSignEvent(secrets.open(webhook.signing_secret, contextOf(webhook)).toString())
}

/** Cached secrets: some hundred bytes each. */
const REMEMBERED = 1_000
const KEEP_MS = 60_000

/** As `openSigner`, with a cache. */
export function createSigners(secrets: Secrets): (webhook: SignedWebhook) => SignEvent {
  const known = new TtlCache<SignEvent>(REMEMBERED)
  return webhook => {
    // Keyed by the sealed bytes, which differ per secret and webhook.
    const name = webhook.signing_secret.toString('latin1')
    const remembered = known.get(name)
    if (remembered) return remembered
    const sign = openSigner(secrets, webhook)
    known.set(name, sign, KEEP_MS)
    return sign
  }
}

/**
 * Returns the context that a secret is sealed with: it names the row, so that the secret cannot be opened in another.
 */
function contextOf({ id, account_id }: WebhookId): string {
  return `webhooks|signing_secret|${id}|${account_id}`
}

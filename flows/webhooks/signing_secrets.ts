import { Memory } from '#lib/async/ttl_cache.ts'
import type { Secrets } from '#lib/secrets.ts'
import { createSignEvent, newSigningSecret, type SignEvent } from '#lib/webhooks/signature.ts'
import type { WebhookId } from '#sql/webhooks/due_events.ts'

/** A new secret, and as it is stored. */
export function makeSigningSecret(secrets: Secrets, webhook: WebhookId): { plain: string; sealed: Buffer } {
  const plain = newSigningSecret()
  return { plain, sealed: secrets.seal(Buffer.from(plain), contextOf(webhook)) }
}

type SignedWebhook = WebhookId & { signing_secret: Buffer }

/** What signs for a webhook with the secret that it has now. Throws when that does not open. */
export function openSigner(secrets: Secrets, webhook: SignedWebhook): SignEvent {
  return createSignEvent(secrets.open(webhook.signing_secret, contextOf(webhook)).toString())
}

/** Secrets that are at hand: some hundred bytes each. */
const REMEMBERED = 1_000
const KEEP_MS = 60_000

/** The same, remembered. */
export function createSigners(secrets: Secrets): (webhook: SignedWebhook) => SignEvent {
  const known = new Memory<SignEvent>(REMEMBERED)
  return webhook => {
    // By the sealed bytes, which are others with each secret and each place.
    const name = webhook.signing_secret.toString('latin1')
    const remembered = known.get(name)
    if (remembered) return remembered
    const sign = openSigner(secrets, webhook)
    known.set(name, sign, KEEP_MS)
    return sign
  }
}

/** What a secret is sealed for: its place, so that it opens in no other. */
function contextOf({ id, account_id }: WebhookId): string {
  return `webhooks|signing_secret|${id}|${account_id}`
}

import { Webhooks as Operations } from './generated/resources.ts'
import { verifyWebhook } from './verify_webhook.ts'

export class Webhooks extends Operations {
  /** Verifies that a request came from Mailbrook, and returns its body. It sends nothing. */
  readonly verify = verifyWebhook
}

import type { Options } from './calls/options.ts'
import { Emails as Operations } from './generated/resources.ts'
import type { Email } from './generated/types.ts'
import { poll } from './poll.ts'

/** Statuses that are not final. */
const UNSETTLED = new Set(['scheduled', 'queued', 'sent', 'delivery_delayed'])

export class Emails extends Operations {
  /**
   * Waits until an email has a final status: `delivered`, `bounced`, `complained`, `failed`, `suppressed` or `canceled`.
   * @throws {MailbrookError} `wait_timeout` if it has none within `within` milliseconds; default: one minute
   */
  waitFor(id: string, { within = 60_000, ...options }: Options & { within?: number | undefined } = {}): Promise<Email> {
    return poll(
      () => this.get(id, options),
      ({ status }) => !UNSETTLED.has(status),
      { within, ...options },
    )
  }
}

import type { Options } from './calls/options.ts'
import { MailbrookError } from './error.ts'
import { Emails as Operations } from './generated/resources.ts'
import type { Email } from './generated/types.ts'
import { poll } from './poll.ts'

/** Statuses that are not final. */
const UNSETTLED = new Set(['scheduled', 'queued', 'sent', 'delivery_delayed'])

export class Emails extends Operations {
  /**
   * Waits until an email has a final status: `delivered`, `bounced`, `complained`, `failed`, `suppressed` or `canceled`.
   * @throws {MailbrookError} `wait_timeout` if it has none within `within` milliseconds (default: one minute), and at once if it is
   * scheduled for later
   */
  waitFor(id: string, { within = 60_000, ...options }: Options & { within?: number | undefined } = {}): Promise<Email> {
    const end = Date.now() + within
    const isSettled = ({ status, scheduled_at }: Email) => {
      if (status === 'scheduled' && scheduled_at && Date.parse(scheduled_at) > end)
        throw new MailbrookError(
          null,
          'wait_timeout',
          `The email is scheduled for ${scheduled_at}: the wait ends before.`,
        )
      return !UNSETTLED.has(status)
    }
    return poll(() => this.get(id, options), isSettled, { within, ...options })
  }
}

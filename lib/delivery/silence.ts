import { Breaker } from '#lib/async/circuit_breaker.ts'
import type { Outcome, Outgoing } from './transport.ts'

/**
 * Watches how a server behaves after the final dot. It is a failure if the server does not reply in time, or drops the
 * connection. After five failures in a row only one message per pause is sent, until one gets a reply. No message is sent while
 * the maximum number of messages is set aside.
 */
export class Silence {
  readonly #breaker: Breaker
  #aside = 0

  /** @param now a clock in ms that never goes back */
  constructor(now?: () => number) {
    this.#breaker = new Breaker(now)
  }

  /** Returns the reason not to start a message now, or null. `most`: messages that may be set aside. */
  refuses(most: number): string | null {
    if (this.#aside >= most) return `${this.#aside} messages wait for its reply already.`
    return this.#breaker.refuses()
  }

  /** Sends a message that `refuses` has allowed, and records the outcome. */
  async watch<Result extends { outcome: Outcome }>(
    outgoing: Outgoing,
    most: number,
    send: (outgoing: Outgoing) => Promise<Result>,
  ): Promise<Result> {
    let isFenced = false
    let isAside = false
    const fence = async () => {
      isFenced = await outgoing.fence()
      return isFenced
    }
    const onSilence = () => {
      this.#breaker.failed('It did not reply to the end of a message.')
      isAside = this.#aside < most && outgoing.onSilence?.() === true
      if (isAside) this.#aside++
      return isAside
    }
    try {
      const result = await send({ ...outgoing, fence, onSilence })
      const { outcome } = result
      if (outcome.outcome === 'in_doubt') {
        if (!isAside) this.#breaker.failed(outcome.reason)
      } else if (isFenced && 'reply' in outcome) this.#breaker.succeeded()
      else this.#breaker.abstained()
      return result
    } finally {
      if (isAside) this.#aside--
    }
  }
}

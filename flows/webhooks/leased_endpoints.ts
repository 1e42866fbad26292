import type { ClaimedWebhook, Room } from '#sql/webhooks/leases.ts'
import type { EndpointQueue } from './endpoint_queue.ts'

/** `again`: the webhook was claimed again while its queue was ending. */
type Leased = { webhook: ClaimedWebhook; queue: EndpointQueue; ended: Promise<void>; again?: ClaimedWebhook }

/**
 * Places for webhooks that fail, for the others (`sound`), and for those of the others that have been silent for
 * `silent_ms`: these do not take a place of `sound`, since many may begin to hang at the same time.
 */
export type Places = Room & { silent: number; silent_ms: number }

type LeasedDeps = {
  open(webhook: ClaimedWebhook): EndpointQueue
  /** Called when a queue has ended, with the error that ended it or null. Never rejects. */
  onEnd(webhook: ClaimedWebhook, error: unknown): Promise<void>
}

/** The webhooks that this process has leased, with a queue for each. */
export class LeasedEndpoints {
  readonly #deps: LeasedDeps
  readonly #leased = new Map<number, Leased>()
  #isStopped = false

  constructor(deps: LeasedDeps) {
    this.#deps = deps
  }

  get size(): number {
    return this.#leased.size
  }

  /** Returns how many more may be taken. */
  roomIn({ sound, failing, silent, silent_ms }: Places): Room {
    const now = { failing: 0, silent: 0, sound: 0 }
    for (const { queue } of this.#leased.values()) {
      if (queue.isFailing) now.failing++
      else if (now.silent < silent && queue.isSilent(silent_ms)) now.silent++
      else now.sound++
    }
    return { sound: Math.max(0, sound - now.sound), failing: Math.max(0, failing - now.failing) }
  }

  /** True if there are enough places for the failing webhooks. */
  mayFail({ failing }: Places): boolean {
    let count = 0
    for (const { queue } of this.#leased.values()) if (queue.isFailing) count++
    return count <= failing
  }

  webhooks(): ClaimedWebhook[] {
    return [...this.#leased.values()].map(({ webhook }) => webhook)
  }

  take(webhook: ClaimedWebhook): void {
    const leased = this.#leased.get(webhook.id)
    if (leased) leased.again = webhook
    else this.#begin(webhook)
  }

  /**
   * If there is no room, webhooks that have held their place for this long give it back. Otherwise a slow endpoint that
   * accepts its events would keep its place as long as any are left, for days.
   */
  endTurns(room: Room, turn_ms: number): void {
    for (const { queue } of this.#leased.values()) {
      const isFull = room[queue.isFailing ? 'failing' : 'sound'] === 0
      if (isFull && performance.now() > queue.began_at + turn_ms) queue.stop()
    }
  }

  /** Webhooks taken from now on end at once, which gives them back. */
  stop(): void {
    this.#isStopped = true
    for (const { queue } of this.#leased.values()) queue.stop()
  }

  async idle(): Promise<void> {
    while (this.size > 0) await Promise.all([...this.#leased.values()].map(({ ended }) => ended))
  }

  #begin(webhook: ClaimedWebhook): void {
    const queue = this.#deps.open(webhook)
    if (this.#isStopped) queue.stop()
    this.#leased.set(webhook.id, { webhook, queue, ended: this.#run(webhook, queue) })
  }

  async #run(webhook: ClaimedWebhook, queue: EndpointQueue): Promise<void> {
    const error = await queue.run().then(
      () => null,
      reason => reason,
    )
    await this.#deps.onEnd(webhook, error)
    const again = this.#leased.get(webhook.id)?.again
    this.#leased.delete(webhook.id)
    if (again) this.#begin(again)
  }
}

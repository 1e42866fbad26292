import { Semaphore } from './semaphore.ts'

type Account = { own: Semaphore; users: number }

/**
 * Permits that accounts share, such as bytes of memory. One account holds at most `share` of them, so one that keeps its share
 * for long delays only itself: `total - share` permits remain for the others.
 */
export class SharedBudget {
  readonly #all: Semaphore
  readonly #share: number
  readonly #accounts = new Map<string, Account>()

  constructor(total: number, share: number) {
    this.#all = new Semaphore(total)
    this.#share = share
  }

  /**
   * Waits for permits, in order of arrival within the account. A number above `share` counts as `share`. Resolves to a function
   * that gives them back and may be called twice. Rejects with the signal's reason if it is aborted first.
   */
  async acquire(account_id: string, permits: number, signal: AbortSignal): Promise<() => void> {
    const wanted = Math.min(permits, this.#share)
    const account = this.#enter(account_id)
    const leave = () => this.#leave(account_id, account)
    try {
      await account.own.acquire(wanted, signal)
    } catch (error) {
      leave()
      throw error
    }
    try {
      await this.#all.acquire(wanted, signal)
    } catch (error) {
      account.own.release(wanted)
      leave()
      throw error
    }
    return this.#releaseOnce(account_id, account, wanted)
  }

  /** As `acquire` if the permits are free; null if it would have to wait. */
  tryAcquire(account_id: string, permits: number): (() => void) | null {
    const wanted = Math.min(permits, this.#share)
    const account = this.#enter(account_id)
    if (account.own.tryAcquire(wanted)) {
      if (this.#all.tryAcquire(wanted)) return this.#releaseOnce(account_id, account, wanted)
      account.own.release(wanted)
    }
    this.#leave(account_id, account)
    return null
  }

  #releaseOnce(account_id: string, account: Account, permits: number): () => void {
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#all.release(permits)
      account.own.release(permits)
      this.#leave(account_id, account)
    }
  }

  #enter(account_id: string): Account {
    const account = this.#accounts.get(account_id) ?? { own: new Semaphore(this.#share), users: 0 }
    this.#accounts.set(account_id, account)
    account.users++
    return account
  }

  #leave(account_id: string, account: Account): void {
    if (--account.users === 0) this.#accounts.delete(account_id)
  }
}

import type { RequestKey } from '../draft_emails.ts'
import { concurrent, keyConflict } from '../errors.ts'

/**
 * Refuses from memory a second request with the same key while the first is in progress. This covers one process only:
 * requests that reach different processes are told apart by the database alone.
 */
export class KeysUnderWay {
  /** Fingerprints of the requests. */
  readonly #fingerprints = new Map<string, string>()

  /** @throws {ApiError} `invalid_idempotent_request`; `concurrent_idempotent_requests`; the errors of `act` */
  async run<Result>(account_id: string, key: RequestKey | null, act: () => Promise<Result>): Promise<Result> {
    if (key === null) return act()
    const name = JSON.stringify([account_id, key.route, key.key])
    const other = this.#fingerprints.get(name)
    if (other !== undefined) throw other === key.fingerprint ? concurrent() : keyConflict()
    this.#fingerprints.set(name, key.fingerprint)
    try {
      return await act()
    } finally {
      this.#fingerprints.delete(name)
    }
  }
}

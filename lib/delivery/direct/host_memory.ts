import { Breaker } from '#lib/async/circuit_breaker.ts'
import { TtlCache } from '#lib/async/ttl_cache.ts'
import { Silence } from '#lib/delivery/silence.ts'
import type { Protection } from '#lib/delivery/smtp/session_pool.ts'

const REMEMBERED_HOSTS = 10_000

/** How long a host gets mail without TLS after TLS failed, and how long failures are remembered. */
const NO_TLS_MS = 10 * 60_000
const BREAKER_MS = 30 * 60_000

/** Remembers recent failures of hosts, by host name. */
export class HostMemory {
  readonly #breakers = new TtlCache<Breaker>(REMEMBERED_HOSTS)
  readonly #silences = new TtlCache<Silence>(REMEMBERED_HOSTS)
  readonly #withoutTls = new TtlCache<true>(REMEMBERED_HOSTS)

  silenceOf(host: string): Silence {
    const silence = this.#silences.get(host) ?? new Silence()
    this.#silences.set(host, silence, BREAKER_MS)
    return silence
  }

  /**
   * Returns the breaker of a host and a protection: a host that fails with TLS has not failed for mail that does not require it.
   */
  breakerOf(host: string, protection: Protection): Breaker {
    const name = `${host} ${protection}`
    const breaker = this.#breakers.get(name) ?? new Breaker()
    this.#breakers.set(name, breaker, BREAKER_MS)
    return breaker
  }

  /**
   * Returns the values of `ignore_tls` to try in turn. If TLS is not required and fails, the host gets the mail without it (RFC
   * 7435).
   */
  ignoreTlsChoices(host: string, protection: Protection): boolean[] {
    if (protection !== 'none') return [false]
    return this.#withoutTls.get(host) ? [true] : [false, true]
  }

  tlsFailed(host: string): void {
    this.#withoutTls.set(host, true, NO_TLS_MS)
  }
}

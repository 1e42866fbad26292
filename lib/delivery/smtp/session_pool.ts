import type { Protection } from './connection.ts'
import type { SmtpSession } from './session.ts'

export type { Protection } from './connection.ts'

/** Servers close a connection after many messages, so we close it first. */
const MESSAGES_PER_CONNECTION = 100
const IDLE_MS = 5_000

type Idle = { host: string; session: SmtpSession; timer: NodeJS.Timeout }

const RANK: Record<Protection, number> = { none: 0, encrypted: 1, verified: 2 }

/** Idle connections to many hosts. Together with those in use there are at most `most`; those set aside do not count. */
export class SessionPool {
  readonly #idle: Idle[] = []
  readonly #busy = new Set<SmtpSession>()
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  /** Returns an idle connection to this host with at least this protection. */
  take(host: string, protection: Protection): SmtpSession | null {
    for (;;) {
      const at = this.#idle.findLastIndex(
        entry => entry.host === host && RANK[entry.session.protection] >= RANK[protection],
      )
      const [entry] = at < 0 ? [] : this.#idle.splice(at, 1)
      if (!entry) return null
      clearTimeout(entry.timer)
      if (entry.session.isOpen) return entry.session
    }
  }

  /** Called before a new connection is opened: closes the one that has been idle longest if there is no room. */
  makeRoom(): void {
    if (this.#idle.length + this.#inUse() < this.#most) return
    const oldest = this.#idle.shift()
    if (!oldest) return
    clearTimeout(oldest.timer)
    oldest.session.quit()
  }

  /** Uses a session, and keeps it for the next message if possible. */
  async use<Result>(host: string, session: SmtpSession, send: (session: SmtpSession) => Promise<Result>) {
    this.#busy.add(session)
    try {
      return await send(session)
    } finally {
      this.#busy.delete(session)
      this.#giveBack(host, session)
    }
  }

  close(): void {
    for (const session of this.#busy) session.close()
    for (const { session, timer } of this.#idle.splice(0)) {
      clearTimeout(timer)
      session.quit()
    }
  }

  #inUse(): number {
    let count = 0
    for (const { isAside } of this.#busy) if (!isAside) count++
    return count
  }

  #giveBack(host: string, session: SmtpSession): void {
    if (!session.isOpen) return
    if (session.sent >= MESSAGES_PER_CONNECTION || session.isAside) {
      session.quit()
      return
    }
    const entry: Idle = { host, session, timer: setTimeout(() => this.#drop(entry), IDLE_MS) }
    this.#idle.push(entry)
  }

  #drop(entry: Idle): void {
    const at = this.#idle.indexOf(entry)
    if (at >= 0) this.#idle.splice(at, 1)
    entry.session.quit()
  }
}

import { closeSync, openSync, readSync } from 'node:fs'
import { waitUntil } from '#test/support/wait_until.ts'
import type { Entry } from './sink_ledger.ts'

const CHUNK = 1 << 20

/** The messages that a sink in another process has accepted, read from its growing file. */
export class LedgerFile {
  readonly entries: Entry[] = []
  readonly #descriptor: number
  #rest = ''

  constructor(path: string) {
    this.#descriptor = openSync(path, 'a+')
  }

  /** All entries up to now. */
  read(): Entry[] {
    const chunk = Buffer.alloc(CHUNK)
    for (let bytes = readSync(this.#descriptor, chunk); bytes > 0; bytes = readSync(this.#descriptor, chunk)) {
      const lines = (this.#rest + chunk.toString('utf8', 0, bytes)).split('\n')
      this.#rest = lines.pop() ?? ''
      this.entries.push(...lines.map(line => JSON.parse(line) as Entry))
    }
    return this.entries
  }

  async reaches(count: number): Promise<void> {
    await waitUntil(
      () => this.read().length >= count,
      () => `${this.entries.length} of ${count} messages have arrived`,
    )
  }

  /** The number of copies beyond the first, per message and recipient. */
  duplicates(): number {
    return this.read().length - new Set(this.entries.map(({ message_id, rcpt }) => `${message_id} ${rcpt}`)).size
  }

  close(): void {
    closeSync(this.#descriptor)
  }
}

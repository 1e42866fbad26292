import { setTimeout as sleep } from 'node:timers/promises'

type Item = { id: string; created_at: string }
type Options = {
  signal: AbortSignal
  every_ms?: number
  /** How much older than the newest one an item may be when it is added to the list. Default: OVERLAP_MS. */
  late_ms?: number
}

const POLL_MS = 1_000
/** An item may become visible after newer ones, if its transaction took longer. It is found within this time. */
const OVERLAP_MS = 60_000
/** Items that are later are looked for less often: such a read takes more pages. */
const LATE_POLL_MS = 10_000
/** The greatest part of the time that these reads take. */
const LATE_SHARE = 0.1
/** A read ends after so many known old items in a row. A single one may be out of order: requests are logged once they end. */
const KNOWN_IN_A_ROW = 20

/**
 * Yields items that are added to a list from now on, oldest first, until the signal is aborted. `list` is newest first, by its
 * ids.
 */
export async function* follow<Found extends Item>(
  list: () => AsyncIterable<Found>,
  { signal, every_ms = POLL_MS, late_ms = OVERLAP_MS }: Options,
): AsyncGenerator<Found> {
  const reader = new Reader(list)
  let nextLate = 0
  const read = async () => {
    const start = performance.now()
    if (late_ms > OVERLAP_MS && start < nextLate) return reader.read(OVERLAP_MS)
    const added = await reader.read(late_ms, { isDeepest: true })
    const end = performance.now()
    nextLate = end + Math.max(LATE_POLL_MS, (end - start) / LATE_SHARE)
    return added
  }
  await read()
  while (!signal.aborted) {
    await sleep(every_ms, undefined, { signal })
    yield* await read()
  }
}

class Reader<Found extends Item> {
  readonly #list: () => AsyncIterable<Found>
  /** Items above the floor that were read. */
  readonly #known = new Set<string>()
  /** No item with this id or a lower one is read again, so that deleting items does not make older ones appear as new. */
  #floor = ''
  #isFirst = true
  #newest = 0

  constructor(list: () => AsyncIterable<Found>) {
    this.#list = list
  }

  /** Returns the items that were added since the previous reads, oldest first; of the first read, none. */
  async read(overlap_ms: number, { isDeepest = false } = {}): Promise<Found[]> {
    const added: Found[] = []
    let inRow = 0
    for await (const item of this.#list()) {
      if (isAtOrBelow(item.id, this.#floor)) break
      const isKnown = this.#isFirst || this.#known.has(item.id)
      if (!isKnown) added.push(item)
      this.#known.add(item.id)
      const at = Date.parse(item.created_at)
      // Compares times of the server only, since its clock may differ from ours.
      this.#newest = Math.max(this.#newest, at)
      inRow = isKnown && at < this.#newest - overlap_ms ? inRow + 1 : 0
      if (inRow < KNOWN_IN_A_ROW) continue
      if (isDeepest) this.#raiseFloor(item.id)
      break
    }
    this.#isFirst = false
    return added.reverse()
  }

  #raiseFloor(id: string): void {
    this.#floor = id
    for (const known of this.#known) if (isAtOrBelow(known, id)) this.#known.delete(known)
  }
}

/** Compares ids as lists do: UUIDs, or digits. */
function isAtOrBelow(id: string, other: string): boolean {
  return id.length === other.length ? id <= other : id.length < other.length
}

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

/** Yields items that are added to a list from now on, oldest first, until the signal is aborted. `list` is newest first. */
export async function* follow<Found extends Item>(
  list: () => AsyncIterable<Found>,
  { signal, every_ms = POLL_MS, late_ms = OVERLAP_MS }: Options,
): AsyncGenerator<Found> {
  const seen = new Map<string, number>()
  // Never decreases, so that deleting items does not make older ones appear as new.
  let newest = 0
  const read = async (overlap_ms: number) => {
    const added: Found[] = []
    for await (const item of list()) {
      const at = Date.parse(item.created_at)
      newest = Math.max(newest, at)
      // Compares times of the server only, since its clock may differ from ours.
      if (at < newest - overlap_ms) break
      if (!seen.has(item.id)) added.push(item)
      seen.set(item.id, at)
    }
    for (const [id, at] of seen) if (at < newest - late_ms - OVERLAP_MS) seen.delete(id)
    return added.reverse()
  }
  let nextLate = 0
  const readSome = async () => {
    const start = performance.now()
    if (late_ms <= OVERLAP_MS || start < nextLate) return read(OVERLAP_MS)
    const added = await read(late_ms)
    const end = performance.now()
    nextLate = end + Math.max(LATE_POLL_MS, (end - start) / LATE_SHARE)
    return added
  }
  await readSome()
  while (!signal.aborted) {
    await sleep(every_ms, undefined, { signal })
    yield* await readSome()
  }
}

import { setTimeout as sleep } from 'node:timers/promises'

type Item = { id: string; created_at: string }
type Options = { signal: AbortSignal; every_ms?: number }

const POLL_MS = 1_000
/** An item may become visible after newer ones, if its transaction took longer. It is found within this time. */
const OVERLAP_MS = 60_000

/** Yields items that are added to a list from now on, oldest first, until the signal is aborted. `list` is newest first. */
export async function* follow<Found extends Item>(
  list: () => AsyncIterable<Found>,
  { signal, every_ms = POLL_MS }: Options,
): AsyncGenerator<Found> {
  const seen = new Map<string, number>()
  // Never decreases, so that deleting items does not make older ones appear as new.
  let newest = 0
  const read = async () => {
    const added: Found[] = []
    for await (const item of list()) {
      const at = Date.parse(item.created_at)
      newest = Math.max(newest, at)
      // Compares times of the server only, since its clock may differ from ours.
      if (at < newest - OVERLAP_MS) break
      if (!seen.has(item.id)) added.push(item)
      seen.set(item.id, at)
    }
    for (const [id, at] of seen) if (at < newest - 2 * OVERLAP_MS) seen.delete(id)
    return added.reverse()
  }
  await read()
  while (!signal.aborted) {
    await sleep(every_ms, undefined, { signal })
    yield* await read()
  }
}

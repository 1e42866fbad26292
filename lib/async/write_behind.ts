import { countBatch } from './take_batch.ts'

export type WriteBehindOptions<Item> = {
  /** Between two writes that are not full; after one that failed, ten times as long. */
  interval_ms: number
  /** One write at most. */
  max_items: number
  max_weight: number
  weigh: (item: Item) => number
  /** What waits weighs at most this much: further items are dropped. */
  max_waiting: number
  /** A write failed, the first since one succeeded. What it was to write waits for the next. */
  onFailure: (error: unknown) => void
  /** So many items were dropped: told when a write succeeds again, or at the stop. */
  onDropped: (count: number) => void
}

export type WriteBehind<Item> = {
  add(item: Item): void
  /** Writes what waits, and gives up at the first failure. */
  stop(): Promise<void>
}

/**
 * Writes items in batches for which nobody waits: one write at a time, tried again until it succeeds. When it is not known
 * that it did, its items are written twice.
 */
export function writeBehind<Item>(
  write: (items: Item[]) => Promise<void>,
  options: WriteBehindOptions<Item>,
): WriteBehind<Item> {
  const { interval_ms, weigh, max_waiting, onFailure, onDropped } = options
  const waiting: Item[] = []
  let weight = 0
  let dropped = 0
  let isFailing = false
  let isBusy = false
  let isStopped = false
  let timer: NodeJS.Timeout | undefined
  let writing = Promise.resolve()

  const writeLater = () => {
    if (isBusy || isStopped || waiting.length === 0) return
    isBusy = true
    const start = () => {
      writing = writeWaiting().finally(() => {
        isBusy = false
        writeLater()
      })
    }
    timer = setTimeout(start, isFailing ? interval_ms * 10 : interval_ms).unref()
  }

  /** Full batches, and one that is not: all when it is stopped. */
  const writeWaiting = async (): Promise<void> => {
    for (let isFull = true; isFull && waiting.length > 0; ) {
      const count = countBatch(waiting, options)
      isFull = count < waiting.length || isStopped
      try {
        await write(waiting.slice(0, count))
      } catch (error) {
        if (!isFailing) onFailure(error)
        isFailing = true
        return
      }
      isFailing = false
      for (const item of waiting.splice(0, count)) weight -= weigh(item)
      tellDropped()
    }
  }

  const tellDropped = () => {
    if (dropped > 0) onDropped(dropped)
    dropped = 0
  }

  return {
    add(item) {
      if (isStopped || weight + weigh(item) > max_waiting) {
        dropped++
        return
      }
      waiting.push(item)
      weight += weigh(item)
      writeLater()
    },
    async stop() {
      isStopped = true
      clearTimeout(timer)
      await writing
      await writeWaiting()
      dropped += waiting.splice(0).length
      tellDropped()
    },
  }
}

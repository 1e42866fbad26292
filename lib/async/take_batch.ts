export type BatchLimits<Item> = { max_items: number; max_weight: number; weigh: (item: Item) => number }

/** Returns how many of the first items make one batch: at least one, however heavy it is. */
export function countBatch<Item>(items: Item[], { max_items, max_weight, weigh }: BatchLimits<Item>): number {
  let weight = 0
  let count = 0
  while (count < items.length && count < max_items) {
    weight += weigh(items[count] as Item)
    if (count > 0 && weight > max_weight) break
    count++
  }
  return count
}

/** A worker thread that loops endlessly, fills its memory or returns. */
export default function run(what: 'loop' | 'fill' | 'answer'): string {
  const held: number[][] = []
  while (what === 'loop') held.length = 0
  while (what === 'fill') held.push(Array.from({ length: 10_000 }, Math.random))
  return what
}

/** See `Threads`. */
export function ready(): void {}

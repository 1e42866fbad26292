/** Returns the word that is most similar to another one, or null if none is similar. */
export function nearest(word: string, words: string[]): string | null {
  const [best] = words
    .map(known => ({ known, distance: distanceOf(word, known) }))
    .sort((one, other) => one.distance - other.distance)
  return best && best.distance <= Math.max(2, Math.floor(word.length / 3)) ? best.known : null
}

/** Returns how many letters must be inserted, deleted or replaced (Levenshtein distance). */
function distanceOf(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, n) => n)
  for (const [i, letter] of [...one].entries()) {
    const next = [i + 1]
    for (let j = 0; j < other.length; j++) {
      const change = (row[j] ?? 0) + (letter === other[j] ? 0 : 1)
      next.push(Math.min(change, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}

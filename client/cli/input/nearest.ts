/** The word that is most like another one; null: none is. */
export function nearest(word: string, words: string[]): string | null {
  const [best] = words
    .map(known => ({ known, distance: distanceOf(word, known) }))
    .sort((one, other) => one.distance - other.distance)
  return best && best.distance <= Math.max(2, Math.floor(word.length / 3)) ? best.known : null
}

/** How many letters have to be put in, taken out or changed (Levenshtein). */
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

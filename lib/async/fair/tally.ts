/** Counts by name. A name whose count is 0 takes no memory. */
export class Tally {
  readonly #counts = new Map<string, number>()

  add(name: string, by: number): void {
    const count = (this.#counts.get(name) ?? 0) + by
    if (count > 0) this.#counts.set(name, count)
    else this.#counts.delete(name)
  }

  /** Names with at least this count. */
  namesFrom(count: number): string[] {
    return [...this.#counts].flatMap(([name, counted]) => (counted >= count ? [name] : []))
  }
}

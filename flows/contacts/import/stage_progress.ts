import type { StagedFile } from '#sql/contacts/import/leases.ts'

/** Tells whoever merges the rows of an import how far they are staged, and whoever stages them how far they are merged. */
export class StageProgress {
  #chunks = 0
  #end: StagedFile | null = null
  #merged = 0
  #isStopped = false
  #wake: (() => void) | null = null
  #wakeStage: (() => void) | null = null

  /** Another chunk is staged. */
  advance(): void {
    this.#chunks++
    this.#wake?.()
  }

  /** All of the file is staged. */
  end(file: StagedFile): void {
    this.#end = file
    this.advance()
  }

  /** How many chunks are staged so far. */
  get chunks(): number {
    return this.#chunks
  }

  /** The file, once all of it is staged, and only once. */
  takeEnd(): StagedFile | null {
    const end = this.#end
    this.#end = null
    return end
  }

  /** Waits until more than so many chunks are staged, or `stop()`. */
  async wait(chunks: number): Promise<void> {
    if (this.#chunks > chunks) return
    await new Promise<void>(resolve => {
      this.#wake = resolve
    })
    this.#wake = null
  }

  /** All records up to this one are merged. */
  merge(through: number): void {
    this.#merged = through
    this.#wakeStage?.()
  }

  /** Waits until all records up to this one are merged, or `stop()`. */
  async waitForMerge(through: number): Promise<void> {
    while (this.#merged < through && !this.#isStopped) {
      await new Promise<void>(resolve => {
        this.#wakeStage = resolve
      })
    }
    this.#wakeStage = null
  }

  /** Nobody is to wait any more. */
  stop(): void {
    this.#isStopped = true
    this.#wakeStage?.()
    this.advance()
  }
}

import type { StagedFile } from '#sql/contacts/import/leases.ts'

/** Progress of an import, shared between merging and staging: each sees how far the other has come. */
export class StageProgress {
  #chunks = 0
  #end: StagedFile | null = null
  #merged = 0
  #isStopped = false
  #wake: (() => void) | null = null
  #wakeStage: (() => void) | null = null

  /** Called when another chunk is staged. */
  advance(): void {
    this.#chunks++
    this.#wake?.()
  }

  /** Called when the whole file is staged. */
  end(file: StagedFile): void {
    this.#end = file
    this.advance()
  }

  /** Number of chunks staged so far. */
  get chunks(): number {
    return this.#chunks
  }

  /** Returns the file once all of it is staged, and only once. */
  takeEnd(): StagedFile | null {
    const end = this.#end
    this.#end = null
    return end
  }

  /** Waits until more than `chunks` chunks are staged, or `stop()`. */
  async wait(chunks: number): Promise<void> {
    if (this.#chunks > chunks) return
    await new Promise<void>(resolve => {
      this.#wake = resolve
    })
    this.#wake = null
  }

  /** Called when all records up to this one are merged. */
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

  /** Ends all waits. */
  stop(): void {
    this.#isStopped = true
    this.#wakeStage?.()
    this.advance()
  }
}

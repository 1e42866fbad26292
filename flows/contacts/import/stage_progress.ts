import type { StagedFile } from '#sql/contacts/import/leases.ts'

/** Tells whoever merges the rows of an import how far they are staged. */
export class StageProgress {
  #chunks = 0
  #end: StagedFile | null = null
  #wake: (() => void) | null = null

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

  /** Waits until more than so many chunks are staged, or advance() tells of an end. */
  async wait(chunks: number): Promise<void> {
    if (this.#chunks > chunks) return
    await new Promise<void>(resolve => {
      this.#wake = resolve
    })
    this.#wake = null
  }
}

/** Puts words and line breaks together to plain text: no space at the end of a line, at most one blank line in a row. */
export class TextWriter {
  /** Stands before each line. */
  indent = ''
  readonly #pieces: string[] = []
  /** Line breaks that are due before the next word: 1 begins a line, 2 leave a blank one. */
  #breaks = 0
  #isSpaceDue = false
  /** Stands at the beginning of the next line that has a word. */
  #mark = ''
  #lastIndent = ''

  breakLines(count: 1 | 2): void {
    this.#breaks = Math.max(this.#breaks, count)
  }

  /** A line break of the author: two in a row leave a blank line. */
  newline(): void {
    this.#breaks = Math.min(2, this.#breaks + 1)
  }

  space(): void {
    this.#isSpaceDue = true
  }

  mark(text: string): void {
    this.#mark = text
  }

  /** Text whose blanks count as one space each. */
  putWords(text: string): void {
    const words = text.replace(/[\s\u200B\uFEFF\u00AD]+/g, ' ')
    if (words === '') return
    if (words.startsWith(' ')) this.space()
    const trimmed = words.trim()
    if (trimmed === '') return
    this.put(trimmed)
    if (words.endsWith(' ')) this.space()
  }

  /** Text that follows a space; a space that was due comes after it. */
  putBehind(text: string): void {
    const isSpaceDue = this.#isSpaceDue
    this.space()
    this.put(text)
    if (isSpaceDue) this.space()
  }

  /** Preformatted text: its lines and blanks are kept. */
  putLines(text: string): void {
    for (const [index, line] of text.split(/\r\n|\r|\n/).entries()) {
      if (index > 0) this.newline()
      if (line.trim() !== '') this.put(line.trimEnd())
    }
  }

  put(text: string): void {
    if (this.#pieces.length === 0) this.#beginLine(0)
    else if (this.#breaks > 0) this.#beginLine(this.#breaks)
    else if (this.#isSpaceDue) this.#append(' ')
    this.#breaks = 0
    this.#isSpaceDue = false
    this.#append(text)
  }

  /** Where the text ends now, for `since`. */
  position(): number {
    return this.#pieces.length
  }

  since(position: number): string {
    return this.#pieces.slice(position).join('')
  }

  end(): string {
    return this.#pieces.join('')
  }

  #beginLine(breaks: number): void {
    // The blank line belongs to what both lines belong to.
    const shared = this.indent.length < this.#lastIndent.length ? this.indent : this.#lastIndent
    if (breaks > 1) this.#append(`\n${shared.trimEnd()}\n`)
    else if (breaks === 1) this.#append('\n')
    this.#append(this.indent + this.#mark)
    this.#mark = ''
    this.#lastIndent = this.indent
  }

  #append(text: string): void {
    if (text !== '') this.#pieces.push(text)
  }
}

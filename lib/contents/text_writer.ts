/** Builds plain text from words and line breaks, without spaces at the ends of lines and with at most one blank line in a row. */
export class TextWriter {
  /** Prefix of each line. */
  indent = ''
  readonly #pieces: string[] = []
  /** Line breaks before the next word: 1 begins a new line, 2 leave a blank line. */
  #breaks = 0
  #isSpaceDue = false
  /** Prefix of the next line that has a word. */
  #mark = ''
  #lastIndent = ''

  breakLines(count: 1 | 2): void {
    this.#breaks = Math.max(this.#breaks, count)
  }

  /** Adds a line break of the author; two in a row leave a blank line. */
  newline(): void {
    this.#breaks = Math.min(2, this.#breaks + 1)
  }

  space(): void {
    this.#isSpaceDue = true
  }

  mark(text: string): void {
    this.#mark = text
  }

  /** Adds text in which each run of white space counts as one space, without soft hyphens and other places for line breaks. */
  putWords(text: string): void {
    const words = text.replace(/[\u00AD\u200B\uFEFF]+/g, '').replace(/\s+/g, ' ')
    if (words === '') return
    if (words.startsWith(' ')) this.space()
    const trimmed = words.trim()
    if (trimmed === '') return
    this.put(trimmed)
    if (words.endsWith(' ')) this.space()
  }

  /** Adds text after a space. If a space was due, it follows the text. */
  putBehind(text: string): void {
    const isSpaceDue = this.#isSpaceDue
    this.space()
    this.put(text)
    if (isSpaceDue) this.space()
  }

  /** Adds preformatted text, with its lines and spaces. */
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

  /** Returns the current end of the text, for `since`. */
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
    // The blank line has the indent that both lines share.
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

/** A longer text keeps its line breaks, since nobody reads that far. */
const MAX_LENGTH = 1_000_000

/** Joins the lines of a format=flowed text (RFC 3676), in quotes only lines of the same depth. */
export function unflow(text: string, delSp: boolean): string {
  if (text.length > MAX_LENGTH) return text
  const paragraphs: string[] = []
  let lines: string[] = []
  let openDepth = -1 // of the paragraph that continues, or -1
  const close = () => {
    if (lines.length > 0) paragraphs.push(lines.join(''))
    lines = []
  }
  for (const line of text.split('\n')) {
    const depth = /^>*/.exec(line)?.[0].length ?? 0
    const content = line.slice(depth).replace(/^ /, '')
    const isSignature = content === '-- ' // neither fixed nor flowed (RFC 3676 4.3)
    if (depth !== openDepth || isSignature) {
      close()
      lines.push(depth > 0 ? `${'>'.repeat(depth)} ` : '')
    }
    const isSoft = content.endsWith(' ') && !isSignature
    lines.push(isSoft && delSp ? content.slice(0, -1) : content)
    openDepth = isSoft ? depth : -1
  }
  close()
  return paragraphs.join('\n')
}

/** Formats a record for people: a line per field, with objects as JSON. */
export function recordText(record: Record<string, unknown>): string {
  const names = Object.keys(record).filter(name => name !== 'object')
  const width = Math.max(0, ...names.map(name => name.length))
  return names.map(name => `${name.padEnd(width)}  ${valueText(record[name], width + 2)}`).join('\n')
}

function valueText(value: unknown, indent: number): string {
  // JSON escapes only some of the characters that control a terminal.
  const text = plainText(isPlain(value) ? value : JSON.stringify(value, null, 2))
  return text.replaceAll('\n', `\n${' '.repeat(indent)}`)
}

function isPlain(value: unknown): boolean {
  return Array.isArray(value)
    ? value.every(one => typeof one !== 'object')
    : typeof value !== 'object' || value === null
}

/** Returns a value as one line without control characters: text from others, such as subjects, must not control the terminal. */
export function plainText(value: unknown): string {
  if (value === null || value === undefined) return '-'
  const text = Array.isArray(value) ? value.map(plainText).join(', ') : oneText(value)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these control a terminal
  return text.replaceAll(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g, '\ufffd')
}

function oneText(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

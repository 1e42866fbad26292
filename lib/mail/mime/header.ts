/**
 * A header field (RFC 5322 2.2). `name` is in lower case. `value` is unfolded and trimmed, with one character per byte (latin1),
 * since 8-bit bytes have no charset yet. `raw` is the whole field as it was written, with its line ends.
 */
export type ReadField = { name: string; value: string; raw: Buffer }

const TAB = 9
const LF = 10
const CR = 13
const SPACE = 32
const COLON = 58

/**
 * Splits a message, or a part of one, at the first empty line (RFC 5322 2.1). Lines end in CRLF, LF or CR. `header` is the
 * beginning of `raw` up to the last field. If the empty line is missing, lines after the last field that are not fields belong to
 * `body`. Linear in the length of the header.
 */
export function splitMessage(raw: Buffer): { header: Buffer; body: Buffer } {
  let end = 0
  let isInside = false
  for (let at = 0; at < raw.length; ) {
    const line = lineAt(raw, at)
    if (line.end === at) return { header: raw.subarray(0, end), body: raw.subarray(end === at ? line.next : end) }
    const isFold = isBlank(raw[at])
    if (!isFold) isInside = colonOf(raw, at, line.end) !== -1
    if (isInside) end = line.next
    // Without a field before it, this line begins a text.
    else if (end === 0 && !isFold && !isEnvelopeLine(raw, at)) return { header: raw.subarray(0, 0), body: raw }
    at = line.next
  }
  return { header: raw.subarray(0, end), body: raw.subarray(end) }
}

/**
 * Parses the fields of a header in their order, including repeated names. Lines that are not fields are skipped: the line of an
 * mbox (`From ann@x.com Mon ...`), or a continuation that lost its leading space on the way. Linear in the length.
 */
export function readHeader(header: Buffer): ReadField[] {
  const text = header.toString('latin1')
  const fields: ReadField[] = []
  let start = -1
  let at = 0
  const close = () => {
    if (start !== -1) fields.push({ ...readField(text.slice(start, at)), raw: header.subarray(start, at) })
    start = -1
  }
  while (at < header.length) {
    const line = lineAt(header, at)
    if (!isBlank(header[at])) {
      close()
      if (line.end === at) return fields
      if (colonOf(header, at, line.end) !== -1) start = at
    }
    at = line.next
  }
  close()
  return fields
}

/** Returns the values by name. The first of repeated fields counts, since fields added on the way are above the others. */
export function firstValues(fields: ReadField[]): Map<string, string> {
  const values = new Map<string, string>()
  for (const { name, value } of fields) if (!values.has(name)) values.set(name, value)
  return values
}

function readField(text: string): { name: string; value: string } {
  const colon = text.indexOf(':')
  return {
    name: trimBlanks(text.slice(0, colon)).toLowerCase(),
    value: trimBlanks(text.slice(colon + 1).replace(/[\r\n]+/g, '')),
  }
}

/** Trims without a regular expression, which would be quadratic in spaces that are not at the end. */
function trimBlanks(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

/** Returns where the line ends and where the next one begins. */
function lineAt(bytes: Buffer, start: number): { end: number; next: number } {
  let end = start
  while (end < bytes.length && bytes[end] !== LF && bytes[end] !== CR) end++
  const isPair = bytes[end] === CR && bytes[end + 1] === LF
  return { end, next: Math.min(end + (isPair ? 2 : 1), bytes.length) }
}

/** Returns the position of the colon after a field name, or -1. White space before it is obsolete syntax (RFC 5322 4.5). */
function colonOf(bytes: Buffer, start: number, end: number): number {
  let at = start
  while (at < end && isNameByte(bytes[at] as number)) at++
  if (at === start) return -1
  while (at < end && isBlank(bytes[at])) at++
  return bytes[at] === COLON && at < end ? at : -1
}

function isNameByte(byte: number): boolean {
  return byte > SPACE && byte < 127 && byte !== COLON
}

function isBlank(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB
}

/** Detects `From ann@x.com Mon Jan 1 ...`, also quoted, which an mbox has before each message. */
function isEnvelopeLine(bytes: Buffer, start: number): boolean {
  return /^>?From /.test(bytes.toString('latin1', start, start + 6))
}

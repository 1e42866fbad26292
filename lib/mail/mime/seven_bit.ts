import { isAscii } from 'node:buffer'

/** Maximum characters of a line without its end (RFC 5322 section 2.1.1). */
const LONGEST_LINE = 998
const LF = 10

/** Tells whether lines that end in CRLF are valid in the encoding 7bit (RFC 2045 section 2.7). Linear. */
export function isSevenBit(lines: Buffer): boolean {
  if (!isAscii(lines) || lines.includes(0)) return false
  let start = 0
  for (let at = 0; at < lines.length; at++) {
    if (lines[at] === LF) start = at + 1
    // The CR counts too, so one more character is allowed.
    else if (at - start > LONGEST_LINE) return false
  }
  return true
}

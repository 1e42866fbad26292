/**
 * Relaxed header canonicalization, RFC 6376 section 3.4.2, without the CRLF at the end.
 * `raw` is one field, `Name: value`, possibly folded.
 */
export function relaxedField(raw: string): string {
  const colon = raw.indexOf(':')
  const value = raw
    .slice(colon + 1)
    .replaceAll('\r\n', '')
    .replace(/[ \t]+/g, ' ')
  return `${raw.slice(0, colon).trim().toLowerCase()}:${value.trim()}`
}

/** Relaxed body canonicalization, RFC 6376 section 3.4.4, of CRLF lines. May return a view of its argument. */
export function relaxedBody(body: Buffer): Buffer {
  return endedOnce(body.at(-1) === 0x20 ? withoutExtraSpace(body) : relaxedLines(body))
}

/** Relaxed canonicalization of CRLF lines, including the last, that are a part of a body: empty lines at the end stay. */
export function relaxedLines(lines: Buffer): Buffer {
  return hasExtraSpace(lines) ? withoutExtraSpace(lines) : lines
}

/**
 * Tells whether white space in CRLF lines, including the last, would change. These scans at memory speed spare most bodies a
 * rewrite: base64 has no white space, and part headers have single spaces.
 */
function hasExtraSpace(lines: Buffer): boolean {
  return lines.includes('\t') || lines.includes('  ') || lines.includes(' \r\n')
}

function withoutExtraSpace(body: Buffer): Buffer {
  const lines = body.toString('latin1').replace(/[ \t]+/g, ' ')
  return Buffer.from(lines.replace(/ (?=\r\n|$)/g, ''), 'latin1')
}

/** Drops empty lines at the end. An empty body stays empty; any other ends with one CRLF. */
function endedOnce(body: Buffer): Buffer {
  let end = body.length
  while (end >= 2 && body[end - 2] === 0x0d && body[end - 1] === 0x0a) end -= 2
  if (end === 0) return body.subarray(0, 0)
  return end < body.length ? body.subarray(0, end + 2) : Buffer.concat([body, Buffer.from('\r\n')])
}

/** A leaf of the tree of parts, decoded. Header names are in lower case, values unfolded; the first of a name counts. */
export type Part = { type: string; headers: Map<string, string>; text: string }

/** What of a report is read: the notice comes first in it, and what was returned may be as long as it likes. */
const MAX_BYTES = 512 * 1024
const MAX_HEADERS = 64 * 1024
const MAX_PARTS = 32
const MAX_DEPTH = 4

/**
 * The headers of a message and its parts, in order. Lenient, as reports are written by programs that are not: wrong ends
 * of lines, boundaries that never close, encodings that are not kept. What was returned (message/rfc822) is one part,
 * which is not looked into: what it says is somebody else's word. Linear in the bytes that are read.
 */
export function readParts(raw: Uint8Array): { headers: Map<string, string>; parts: Part[] } {
  const text = beginning(raw, MAX_BYTES)
  const parts: Part[] = []
  const { headers, body } = splitHeaders(text)
  collect(headers, body, 0, parts)
  return { headers, parts }
}

/** Its headers alone, which tell most messages from a report. */
export function readHeaders(raw: Uint8Array): Map<string, string> {
  return splitHeaders(beginning(raw, MAX_HEADERS)).headers
}

/** The fields up to the first empty line; a line that is no field ends them as well. */
export function splitHeaders(text: string): { headers: Map<string, string>; body: string } {
  const headers = new Map<string, string>()
  let name = ''
  let at = 0
  while (at < text.length) {
    const next = text.indexOf('\n', at)
    const end = next === -1 ? text.length : next
    const line = text.slice(at, end)
    if (line.trim() === '') return { headers, body: text.slice(end + 1) }
    const field = /^([!-9;-~]{1,80})[ \t]*:[ \t]*(.*)$/.exec(line)
    if (/^[ \t]/.test(line) && name) {
      headers.set(name, `${headers.get(name) ?? ''} ${line.trim()}`.slice(0, 10_000))
    } else if (field) {
      const [, key = '', value = ''] = field
      name = key.toLowerCase()
      // A fold of a second one goes nowhere.
      if (headers.has(name)) name = ''
      else headers.set(name, value.trim())
    } else if (!/^From |^>From /.test(line)) {
      return { headers, body: text.slice(at) }
    }
    at = end + 1
  }
  return { headers, body: '' }
}

/** A parameter of a structured field, such as the boundary of a Content-Type. */
export function parameterOf(field: string, name: string): string | null {
  const found = new RegExp(`;\\s*${name}\\s*=\\s*(?:"([^"]*)"|([^\\s;]+))`, 'i').exec(field)
  return found?.[1] ?? found?.[2] ?? null
}

function beginning(raw: Uint8Array, bytes: number): string {
  return Buffer.from(raw.buffer, raw.byteOffset, Math.min(raw.byteLength, bytes))
    .toString('latin1')
    .replace(/\r\n?/g, '\n')
}

function collect(headers: Map<string, string>, body: string, depth: number, parts: Part[]): void {
  const field = headers.get('content-type') ?? 'text/plain'
  const type = (/^\s*([^\s;]+)/.exec(field)?.[1] ?? 'text/plain').toLowerCase()
  const boundary = type.startsWith('multipart/') ? parameterOf(field, 'boundary') : null
  if (boundary === null) {
    if (parts.length < MAX_PARTS) parts.push({ type, headers, text: decode(headers, body) })
    return
  }
  if (depth === MAX_DEPTH) return
  const marks = body.split(`--${boundary}`).slice(1, MAX_PARTS + 1)
  for (const mark of marks) {
    if (mark.startsWith('--')) break
    const inner = splitHeaders(mark.replace(/^[^\n]*\n/, ''))
    collect(inner.headers, inner.body, depth + 1, parts)
  }
}

function decode(headers: Map<string, string>, body: string): string {
  const encoding = (headers.get('content-transfer-encoding') ?? '').toLowerCase()
  const utf8 = (bytes: string) => Buffer.from(bytes, 'latin1').toString('utf8')
  if (encoding.startsWith('base64')) return Buffer.from(body, 'base64').toString('utf8').replace(/\r\n?/g, '\n')
  if (!encoding.startsWith('quoted-printable')) return utf8(body)
  const plain = body
    .replace(/=[ \t]*\n/g, '')
    .replace(/=([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return utf8(plain)
}

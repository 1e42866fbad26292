import { type ReadField, readHeader, splitMessage } from '#lib/mail/mime/header.ts'
import { readParameters } from '#lib/mail/mime/parameters.ts'
import type { Delimiters } from './delimiters.ts'
import { MAX_HEADERS } from './limits.ts'
import { repairHeader } from './repair_header.ts'

/**
 * `bytes` are whole lines in UTF-8, `fields` the fields in them. `boundary` has one character per byte; null if the part is not a
 * multipart or has no boundary. `start` is the Content-ID of the root part of multipart/related (RFC 2387).
 */
export type PartHeader = {
  bytes: Buffer
  fields: ReadField[]
  type: string
  boundary: string | null
  start: string | null
}

type Where = { isRoot: boolean; isDigest: boolean }

const LF = 10
const CR = 13
const LONE_CR = /\r(?!\n)/
const LONE_CRS = /\r(?!\n)/g

/**
 * Parses the header of a part that begins at `start`, and finds where its content begins. A line that is not a field ends the header
 * (RFC 2046 5.1 requires an empty line), and so does a delimiter line. In the header of the message itself such lines are skipped
 * if fields follow, which `isCut` reports. Headers over MAX_HEADERS are left to the reader of the message.
 */
export function readPartHeader(
  raw: Buffer,
  start: number,
  delimiters: Delimiters,
  { isRoot, isDigest }: Where,
): { header: PartHeader; body: number; isCut: boolean } {
  const end = findEnd(raw, start, delimiters)
  const split = splitMessage(raw.subarray(start, end))
  const all = readHeader(split.header)
  const gap = findGap(split.header, all, isRoot)
  const isCut = isRoot && gap !== null
  const kept = isRoot || gap === null ? all : all.slice(0, gap.count)
  const body = isRoot || gap === null ? end - split.body.length : start + gap.at
  const isWhole = kept.reduce((sum, { raw }) => sum + raw.length, 0) === split.header.length
  const written = isWhole ? split.header : Buffer.concat(kept.map(({ raw }) => raw))
  const bytes = endLines(repairHeader(written))
  const fields = bytes === written ? kept : readHeader(bytes)
  const field = fields.find(({ name }) => name === 'content-type')
  const plain: PartHeader = { bytes, fields, type: '', boundary: null, start: null }
  if (!field && isDigest) {
    // RFC 2046 5.1.5
    const type = 'Content-Type: message/rfc822\r\n'
    return { header: { ...plain, bytes: Buffer.concat([Buffer.from(type), bytes]) }, body, isCut }
  }
  const { value, parameters } = readParameters(field?.value ?? '')
  if (!value.startsWith('multipart/')) return { header: { ...plain, type: value }, body, isCut }
  const boundary = parameters.get('boundary')?.trimEnd() || null
  return { header: { ...plain, type: value, boundary, start: parameters.get('start') ?? null }, body, isCut }
}

/** Returns the header for a multipart with this boundary, or for a text if it is null. */
export function writePartHeader({ fields, type, start }: PartHeader, boundary: string | null): Buffer {
  const others = fields.filter(({ name }) => name !== 'content-type')
  const known = /^multipart\/[\w.+-]{1,60}$/.test(type) ? type : 'multipart/mixed'
  const root = start && /^[!#-[\]-~]{1,200}$/.test(start) ? `; start="${start}"` : ''
  const field = boundary === null ? 'text/plain' : `${known}; boundary="${boundary}"${root}`
  return Buffer.concat([Buffer.from(`Content-Type: ${field}\r\n`), ...others.map(({ raw }) => raw)])
}

/** Returns the end of the header: after the empty line, at a delimiter line, or the end of the message. */
function findEnd(raw: Buffer, start: number, delimiters: Delimiters): number {
  for (let at = start; at < raw.length; ) {
    if (delimiters.depth > 0 && delimiters.at(at)) return at
    const lineFeed = raw.indexOf(LF, at)
    const next = lineFeed === -1 ? raw.length : lineFeed + 1
    if (raw[at] === LF || (raw[at] === CR && raw[at + 1] === LF)) return next
    if (next - start > MAX_HEADERS) return next
    at = next
  }
  return raw.length
}

/**
 * Returns the position of the first lines between fields that are not fields. The line at the beginning of an mbox does not count.
 */
function findGap(header: Buffer, fields: ReadField[], isRoot: boolean): { at: number; count: number } | null {
  let at = 0
  for (const [count, { raw }] of fields.entries()) {
    const start = raw.byteOffset - header.byteOffset
    const isEnvelope = isRoot && at === 0 && /^>?From /.test(header.toString('latin1', 0, 6))
    if (start !== at && !isEnvelope) return { at, count }
    at = start + raw.length
  }
  return null
}

/** Converts line ends that are a lone CR to CRLF, which mailparser needs, and ends the last line. */
function endLines(header: Buffer): Buffer {
  if (header.length === 0) return header
  const text = header.toString('latin1')
  if (text.endsWith('\n') && !LONE_CR.test(text)) return header
  return Buffer.from(`${text}${/[\r\n]$/.test(text) ? '' : '\r\n'}`.replace(LONE_CRS, '\r\n'), 'latin1')
}

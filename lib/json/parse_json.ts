import { TimeSlice } from '#lib/async/time_slice.ts'
import { CLOSE_ARRAY, isWhiteSpace } from './bytes.ts'
import { type JsonLimits, JsonScanner } from './scanner.ts'

/** Bytes that are scanned before the time is checked. */
const STEP = 256 * 1024

/** Arrays longer than this are parsed item by item. */
const LONG = 64 * 1024

// A byte order mark is only valid at the beginning of the whole text.
const utf8 = new TextDecoder('utf-8', { fatal: true })
const utf8OfItem = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

const BYTE_ORDER_MARK = Buffer.from('\ufeff')

/**
 * JSON.parse for UTF-8 from clients, with limits that are checked before anything is parsed. It never blocks the event loop for
 * longer than one item of an array takes, or the whole value if it is not an array.
 *
 * @throws {JsonLimitError} @throws {SyntaxError} @throws {TypeError} if the bytes are not UTF-8
 */
export async function parseJson(
  bytes: Buffer,
  limits: JsonLimits,
  slice: TimeSlice = new TimeSlice(),
): Promise<unknown> {
  const scanner = new JsonScanner(bytes, limits)
  while (!scanner.isDone) {
    scanner.scan(STEP)
    if (slice.isOver) await slice.pause()
  }
  return scanner.isArray && bytes.length > LONG
    ? parseItems(bytes, scanner.cuts, slice)
    : JSON.parse(utf8.decode(bytes))
}

async function parseItems(bytes: Buffer, cuts: number[], slice: TimeSlice): Promise<unknown[]> {
  const [open = 0] = cuts
  const close = cuts.at(-1) as number
  const mark = bytes.subarray(0, 3).equals(BYTE_ORDER_MARK) ? 3 : 0
  const isWhole =
    close > open && bytes[close] === CLOSE_ARRAY && isBlank(bytes, mark, open) && isBlank(bytes, close + 1)
  if (!isWhole) throw new SyntaxError('the text is not a single array')
  if (cuts.length === 2 && isBlank(bytes, open + 1, close)) return []

  const items: unknown[] = []
  for (let i = 1; i < cuts.length; i++) {
    items.push(JSON.parse(utf8OfItem.decode(bytes.subarray((cuts[i - 1] as number) + 1, cuts[i]))))
    if (slice.isOver) await slice.pause()
  }
  return items
}

function isBlank(bytes: Buffer, start: number, end: number = bytes.length): boolean {
  for (let at = start; at < end; at++) if (!isWhiteSpace[bytes[at] as number]) return false
  return true
}

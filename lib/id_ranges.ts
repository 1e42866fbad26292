export const FIRST_ID = '00000000-0000-0000-0000-000000000000'
export const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** Below the first id there is none: it is its own. */
export function previousId(id: string): string {
  const number = BigInt(`0x${id.replaceAll('-', '')}`)
  return toId((number === 0n ? number : number - 1n).toString(16).padStart(32, '0'))
}

/** The first UUIDv7 (RFC 9562 5.7) of so long after a moment. */
export function firstId(date: Date, shift_ms: number): string {
  const milliseconds = Math.max(0, date.getTime() + shift_ms)
  return toId(milliseconds.toString(16).padStart(12, '0').padEnd(32, '0'))
}

/** Of 8 digits at least: fewer are the beginning of weeks. */
const ID_BEGINNING = /^[0-9a-f]{8}[0-9a-f-]{0,28}$/
const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The first and the last id that begin so; none when it is no beginning of an id. */
export function idsOf(text = ''): string[] {
  const ids = [FIRST_ID, LAST_ID].map(id => text + id.slice(text.length))
  return ID_BEGINNING.test(text) && ids.every(id => ID.test(id)) ? ids : []
}

function toId(digits: string): string {
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

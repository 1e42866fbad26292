export const FIRST_ID = '00000000-0000-0000-0000-000000000000'
export const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** Returns the id before this one; for the first id, that id itself. */
export function previousId(id: string): string {
  const number = BigInt(`0x${id.replaceAll('-', '')}`)
  return toId((number === 0n ? number : number - 1n).toString(16).padStart(32, '0'))
}

/** Returns the first UUIDv7 (RFC 9562 5.7) of the time `shift_ms` after a date. */
export function firstId(date: Date, shift_ms: number): string {
  const milliseconds = Math.max(0, date.getTime() + shift_ms)
  return toId(milliseconds.toString(16).padStart(12, '0').padEnd(32, '0'))
}

/** At least 8 digits, since fewer would cover weeks of ids. */
const ID_BEGINNING = /^[0-9a-f]{8}[0-9a-f-]{0,28}$/
const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Returns the first and the last id with this prefix; an empty list if the text is not a prefix of an id. */
export function idRange(text = ''): string[] {
  const ids = [FIRST_ID, LAST_ID].map(id => text + id.slice(text.length))
  return ID_BEGINNING.test(text) && ids.every(id => ID.test(id)) ? ids : []
}

function toId(digits: string): string {
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

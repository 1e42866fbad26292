import { withoutAddresses } from '#lib/delivery/refusal_words.ts'
import { saysWhy } from '#lib/delivery/refusals/rules.ts'
import { findAddress } from './report.ts'

/** An address in words, as the source of a pattern. */
export const SPEC = String.raw`[^\s<>"'(),;:\[\]\\]{1,64}@[\w.-]{1,255}`
/** Every address of a text. */
export const ANY = new RegExp(`(${SPEC})`, 'g')

/**
 * Why each of several recipients failed: a reply in its line, or before the next recipient is named; else words there that
 * say why. Recipients that are named in a row share what follows. A recipient of whom nothing is said has no entry.
 */
export function ownReasons(notice: string, addresses: string[]): Map<string, string> {
  const reasons = new Map<string, string>()
  const replied = new Set<string>()
  let row: string[] = []
  for (const { address, line, section, words } of mentions(notice, addresses)) {
    row.push(address)
    if (!/[a-z]/i.test(words) && !REPLIED.test(line)) continue
    const reply = REPLIED.exec(/^[45]\d\d[ -]/.test(line) ? line : section)?.[0]
    const reason = reply ?? (saysWhy(withoutAddresses(words)) ? words.replace(/^[>:\s)]+/, '') : null)
    for (const one of row) {
      if (reason === null || replied.has(one) || (!reply && reasons.has(one))) continue
      reasons.set(one, oneLine(reason))
      if (reply) replied.add(one)
    }
    row = []
  }
  return reasons
}

type Mention = { address: string; line: string; section: string; words: string }

/** Where recipients are named. `section`: from the beginning of that line to the next recipient; `words`: behind the address. */
function mentions(notice: string, addresses: string[]): Mention[] {
  const named = Array.from(notice.matchAll(ANY), ({ 1: found = '', index }) => ({
    address: findAddress(found) ?? '',
    index,
  }))
  const marks = named.filter(({ address }) => addresses.includes(address))
  return marks.map(({ address, index }, n) => {
    const end = Math.min(index + 600, marks.slice(n).find(mark => mark.address !== address)?.index ?? notice.length)
    const start = notice.lastIndexOf('\n', index) + 1
    const [line = ''] = notice.slice(start, index + 600).split('\n', 1)
    return { address, line, section: notice.slice(start, end), words: notice.slice(index + address.length, end) }
  })
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim().slice(0, 1000)
}

/** From the words after the recipient, or those of the whole notice: a reply of a server, if there is one. */
export function reasonOf(notice: string, address: string): string {
  const at = notice.toLowerCase().indexOf(address)
  const after = at === -1 ? notice : notice.slice(at + address.length)
  const reply = REPLIED.exec(after)?.[0] ?? REPLIED.exec(notice)?.[0]
  if (reply) return oneLine(reply)
  const words = oneLine(after.replace(/^[>:\s)]+/, '')).slice(0, 600)
  const whole = oneLine(notice).slice(0, 600)
  const isReason = (text: string) => saysWhy(withoutAddresses(text))
  return isReason(words) || (!isReason(whole) && words.length > 15) ? words : whole
}

/** A reply goes on until an empty line. */
const REPLIED = /(?<![\d.:/])[45]\d\d[ -](?:[#(]?[45]\.\d+\.\d+|[A-Za-z<"'[])(?:[^\n]|\n(?!\s*\n)){0,900}/

import { withoutAddresses } from '#lib/delivery/refusal_words.ts'
import { saysWhy } from '#lib/delivery/refusals/rules.ts'
import { findAddress } from './report.ts'

/** An address within text, as the source of a pattern. */
export const SPEC = String.raw`[^\s<>"'(),;:\[\]\\]{1,64}@[\w.-]{1,255}`
/** Finds every address in a text. */
export const ANY = new RegExp(`(${SPEC})`, 'g')

/**
 * Returns why each of several recipients failed: a reply on its line or before the next recipient; else words there that give a
 * reason. Recipients that are named in a row share the text after them. A recipient without a reason has no entry.
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

/**
 * Returns where recipients are named. `section`: from the beginning of that line to the next recipient; `words`: the text after
 * the address.
 */
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

/** A field of the returned message, which many notices repeat. Its subject may contain any word, and its recipient is no reason. */
const RETURNED_FIELD = /^[ \t]*(?:To|Cc|From|Subject|Sent|Date) ?:.*$/gim

/** Returns the reason from the text after the recipient, or from the whole notice: preferably the reply of a server. */
export function reasonOf(text: string, address: string): string {
  const notice = text.replace(RETURNED_FIELD, '')
  const at = notice.toLowerCase().indexOf(address)
  const after = at === -1 ? notice : notice.slice(at + address.length)
  const reply = REPLIED.exec(after)?.[0] ?? REPLIED.exec(notice)?.[0]
  if (reply) return oneLine(reply)
  const words = oneLine(after.replace(/^[>:\s)]+/, '')).slice(0, 600)
  const whole = oneLine(notice).slice(0, 600)
  const isReason = (text: string) => saysWhy(withoutAddresses(text))
  return isReason(words) || (!isReason(whole) && words.length > 15) ? words : whole
}

/** A reply ends at an empty line. */
const REPLIED = /(?<![\d.:/])[45]\d\d[ -](?:[#(]?[45]\.\d+\.\d+|[A-Za-z<"'[])(?:[^\n]|\n(?!\s*\n)){0,900}/

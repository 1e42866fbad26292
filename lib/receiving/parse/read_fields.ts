import { makeStorable } from '#lib/json/unstorable_json.ts'
import { withAsciiDomain } from '#lib/mail/address.ts'
import type { ReadField } from '#lib/mail/mime/header.ts'
import type { Mailbox } from './mailparser_types.ts'
import { MAX_ENTRIES, MAX_TEXT, type ParsedAddress } from './parsed_message.ts'

/** Maximum characters of an address, a name or an id, which is the limit for a line in RFC 5322. */
const MAX_WORD = 998

/**
 * Returns the addresses of a field, with the members of a group in place of the group. `cuts` gets a sentence about what is left
 * out, here and below.
 */
export function listAddresses(field: { value: Mailbox[] } | { value: Mailbox[] }[] | undefined, cuts: Set<string>) {
  const all = [field ?? []].flat().flatMap(({ value }) => value.flatMap(entry => entry.group ?? [entry]))
  if (all.length > MAX_ENTRIES)
    cuts.add(`It names more than ${MAX_ENTRIES} addresses in a field: the rest is not shown.`)
  return all.slice(0, MAX_ENTRIES).map(
    ({ name, address }): ParsedAddress => ({
      name: clip(name),
      address: withAsciiDomain(withoutObsolete(clip(address ?? ''))),
    }),
  )
}

/** Leaves out the route of an address, and white space around its marks, which readers must accept (RFC 5322 4.4). */
function withoutObsolete(address: string): string {
  const direct = address.replace(/^(?:@[^@:,\s]+[,\s]*)+:\s*/, '')
  // Two steps, since one would take quadratic time for a thousand blanks.
  return direct.includes('"') ? direct : direct.replace(/\s+/g, ' ').replace(/ ?([.@]) ?/g, '$1')
}

export function listHeaders(fields: ReadField[], cuts: Set<string>): Record<string, string> {
  const values = new Map<string, string[]>()
  for (const field of fields) {
    const name = clip(field.name)
    const known = values.get(name)
    if (known) known.push(contentOf(field))
    else if (values.size < MAX_ENTRIES) values.set(name, [contentOf(field)])
    else cuts.add(`It has headers of more than ${MAX_ENTRIES} names: the rest is not shown.`)
  }
  return Object.fromEntries(Array.from(values, ([name, all]) => [name, all.join('\n')]))
}

/** Returns the first Message-ID as it was written: mailparser would always end it with `>`. */
export function readMessageId(fields: ReadField[]): string | null {
  const found = fields.find(({ name }) => name === 'message-id')
  return (found && clip(contentOf(found))) || null
}

function contentOf({ value }: ReadField): string {
  return makeStorable(Buffer.from(value, 'latin1').toString().trim())
}

export function clipText(text: string | null, cuts: Set<string>): string | null {
  if (!text) return null
  if (text.length > MAX_TEXT) cuts.add(`Its text is longer than ${MAX_TEXT} characters: the rest is not shown.`)
  return makeStorable(text.slice(0, MAX_TEXT))
}

export function clip(word: string): string {
  return makeStorable(word.slice(0, MAX_WORD))
}

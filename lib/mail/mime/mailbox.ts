import { encodedWords } from './encoded_word.ts'
import { atomsField, type HeaderField, isPlainText, withoutControls } from './field.ts'

/** `address` is validated ASCII; `name` is any Unicode. */
export type Mailbox = { name: string | null; address: string }

const ATOMS = /^[\w!#$%&'*+\-/=?^`{|}~ ]+$/ // RFC 5322 section 3.2.3
const ADDRESS_SPECIALS = /["(),:;<>[\]\\ ]/

/** Longer names are encoded in words that can be folded, since folding a quoted string changes its spaces. */
const LONGEST_PLAIN_NAME = 60

/** Returns From, To, Cc or Reply-To (RFC 5322 section 3.4), folded between mailboxes. Throws as `atomsField` does. */
export function mailboxesField(name: string, mailboxes: Mailbox[]): HeaderField {
  const last = mailboxes.length - 1
  return atomsField(
    name,
    mailboxes.flatMap((mailbox, i) => mailboxAtoms(mailbox, i < last ? ',' : '')),
  )
}

function mailboxAtoms({ name, address }: Mailbox, comma: string): string[] {
  if (name) return [...nameAtoms(withoutControls(name)), `<${address}>${comma}`]
  return [ADDRESS_SPECIALS.test(address) ? `<${address}>${comma}` : `${address}${comma}`]
}

/** Encodes a name unless quotes preserve it: not every reader preserves outer or repeated spaces in quotes. */
function nameAtoms(name: string): string[] {
  if (name.length > LONGEST_PLAIN_NAME || !isPlainText(name)) return encodedWords(name)
  return [ATOMS.test(name) ? name : `"${name.replace(/["\\]/g, '\\$&')}"`]
}

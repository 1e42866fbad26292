import { z } from 'zod'
import type { ErrorName } from '#lib/errors.ts'
import { clip, counted, LINE, refuse } from '#lib/zod_fields.ts'
import { type Address, parseAddress } from './address.ts'
import { explainUnsendable } from './wide_address.ts'

/** Limit for each of `to`, `cc` and `bcc`. */
export const MAX_RECIPIENTS = 50
export const MAX_SUBJECT_LENGTH = 998

const BIDI_CONTROLS = /\p{Bidi_Control}/gu

/** One address. An invalid one is rejected with the given error name. */
export function address(name: ErrorName) {
  return z.string().transform((text, context): Address => {
    return parseAddress(text) ?? refuse(context, name, explain(text))
  })
}

function explain(text: string): string {
  const unsendable = explainUnsendable(text)
  if (unsendable) return `is ${clip(text)}. ${unsendable}`
  // Nobody would see what is wrong with the address.
  if (parseAddress(text.replace(BIDI_CONTROLS, '')))
    return 'must not have a character that changes the direction of text'
  return `must be \`email@domain\` or \`Name <email@domain>\`, not ${clip(text)}`
}

/** A list of addresses; a single string counts as a list of one. */
export function addresses(name: ErrorName, { min = 0, max = MAX_RECIPIENTS } = {}) {
  const list = z.preprocess(value => (typeof value === 'string' ? [value] : value), z.array(address(name)))
  // For the description of the API: zod does not know that a string is accepted too.
  const text = { type: 'string' } as const
  return counted(min, max, 'addresses', list).meta({ anyOf: [text, { type: 'array', items: text, maxItems: max }] })
}

export const From = address('invalid_from_address')
export const Subject = z
  .string()
  .max(MAX_SUBJECT_LENGTH)
  .regex(/^[^\r\n]*$/, 'must be one line')

/** The subject of many emails, which people see beside others. */
export const ShownSubject = Subject.regex(LINE, 'must be one line')

/** Cuts a subject to its maximum length. Drops half of a surrogate pair, which Postgres would reject. */
export function clipSubject(subject: string): string {
  return subject.slice(0, MAX_SUBJECT_LENGTH).replace(/[\ud800-\udbff]$/, '')
}

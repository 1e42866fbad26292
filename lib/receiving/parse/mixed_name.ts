import { readParameters } from '#lib/mail/mime/parameters.ts'
import { guessText } from '#lib/mail/parts/guess_text.ts'
import type { Split } from './mailparser_types.ts'

const NAMES = [
  { field: 'content-disposition', parameter: 'filename' },
  { field: 'content-type', parameter: 'name' },
] as const

/**
 * Returns the file name of a part whose name is in pieces of which only some are encoded (RFC 2231 4.1), else null: mailparser
 * decodes either all pieces or none, so that the rest of `50%20off.pdf` was lost or its `%20` stayed.
 */
export function mixedName({ headers }: Split): string | null {
  for (const { field, parameter } of NAMES) {
    const [line = ''] = headers.get(field)
    const encoded = new RegExp(`\\b${parameter}\\*\\d+\\*\\s*=\\s*"?(?:([\\w.:-]*)'[^']*')?`, 'i').exec(line)
    const isMixed = encoded !== null && new RegExp(`\\b${parameter}\\*\\d+\\s*=`, 'i').test(line)
    const name = isMixed && readParameters(line.slice(line.indexOf(':') + 1)).parameters.get(parameter)
    if (name && /^[\0-\xff]*$/.test(name)) return decode(Buffer.from(name, 'latin1'), encoded?.[1])
  }
  return null
}

function decode(bytes: Buffer, charset = ''): string {
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes)
  } catch {
    return guessText(bytes) // none, an unknown one, or a wrong one
  }
}

import { readHeader, splitMessage } from '#lib/mail/mime/header.ts'
import { repairHeader } from '#lib/mail/parts/repair_header.ts'
import { MailReader } from '#lib/receiving/parse/mail_reader.ts'
import type { HeaderValues } from '#lib/receiving/parse/mailparser_types.ts'
import { listAddresses } from '#lib/receiving/parse/read_fields.ts'

const ESCAPE = 0x1b

/**
 * Returns the addresses of the authors as they are shown if From is in ISO-2022-JP, else none. mailauth reads it as ASCII, in which
 * its characters are quotes and brackets, and so it may find another author.
 */
export function shownAuthors(raw: Buffer): string[] {
  const field = readHeader(splitMessage(raw).header).find(({ name }) => name === 'from')
  if (!field?.raw.includes(ESCAPE)) return []
  const line = repairHeader(field.raw).toString('latin1')
  const from = new MailReader(() => {}).processHeaders([{ key: 'from', line }]).get('from') as HeaderValues['from']
  return listAddresses(from, new Set()).flatMap(({ address }) => (address.includes('@') ? address : []))
}

import type pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { COPIED_COLUMNS } from '#lib/contacts/import/copy_text.ts'

/** Characters that are sent at a time. */
const PIECE = 64 * 1024

/** Stages rows: lines of COPY's text format (lib/contacts/import/copy_text.ts). */
export async function copyLines(client: pg.PoolClient, lines: string[]): Promise<void> {
  const stream = client.query(copyFrom(`COPY import_rows (${COPIED_COLUMNS}) FROM STDIN`))
  await new Promise<void>((resolve, reject) => {
    stream.once('error', reject)
    stream.once('finish', resolve)
    for (let piece = '', at = 0; at < lines.length; at++) {
      piece += lines[at]
      if (piece.length < PIECE && at < lines.length - 1) continue
      stream.write(piece)
      piece = ''
    }
    stream.end()
  })
}

import type pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { COPIED_COLUMNS } from '#lib/contacts/import/copy_text.ts'

/** Stages rows given as lines of COPY's text format (lib/contacts/import/copy_text.ts), in pieces. */
export async function copyLines(client: pg.PoolClient, pieces: Buffer[]): Promise<void> {
  const stream = client.query(copyFrom(`COPY import_rows (${COPIED_COLUMNS}) FROM STDIN`))
  await new Promise<void>((resolve, reject) => {
    stream.once('error', reject)
    stream.once('finish', resolve)
    for (const piece of pieces) stream.write(piece)
    stream.end()
  })
}

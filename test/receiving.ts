import { createBlobs } from '../flows/blobs.ts'
import { receiveEmail } from '../flows/receive_email.ts'
import type { Foundation } from '../flows/run_process.ts'
import type { ReceivedEmailId } from '../sql/received_emails.ts'
import type { TestAccount } from './world.ts'

/** Stores messages as if they had come in, to be read later; answers their ids in the same order. */
export async function storeMessages(
  foundation: Foundation,
  account: TestAccount,
  raws: Buffer[],
): Promise<ReceivedEmailId[]> {
  const blobs = createBlobs(foundation)
  const { id: account_id, domain_id, domain } = account
  const ids: ReceivedEmailId[] = []
  for (const raw of raws) {
    const client = { address: '127.0.0.1', helo: 'y.com', name: null, tls: null }
    const recipients = [{ account_id, domain_id, recipient: `me@${domain}` }]
    await receiveEmail({ pool: foundation.pool, blobs }, { mail_from: 'ann@y.com', recipients, client, raw })
    const query = 'SELECT account_id, id FROM received_emails WHERE account_id = $1 ORDER BY id DESC LIMIT 1'
    ids.push((await foundation.pool.pg.query(query, [account_id])).rows[0])
  }
  return ids
}

import { ApiError, notFound } from '#lib/errors.ts'
import { retryDeliveriesNow } from '#sql/delivery/stray_deliveries.ts'
import { addJob } from '#sql/jobs.ts'
import type { Pool } from '#sql/pool.ts'
import { type EmailId, isEmail } from '#sql/sending/emails.ts'

/** Makes an email that waits for another attempt due now. @throws {ApiError} 404, or 422 if no recipient waits */
export async function tryNow(pool: Pool, { account_id, id }: EmailId): Promise<void> {
  if (!(await isEmail(pool, account_id, id))) throw notFound('Email')
  await pool.transaction(async tx => {
    if ((await retryDeliveriesNow(tx, account_id, id)) === 0) {
      throw new ApiError('validation_error', 'No recipient of this email waits for another attempt.')
    }
    await addJob(tx, 'send_emails', { email_ids: [id] })
  })
}

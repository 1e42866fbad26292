import { ApiError, notFound } from '#lib/errors.ts'
import type { Schedule } from '#lib/sending/schedule.ts'
import { lockUsage } from '#sql/accounts/usage.ts'
import type { Pool, Tx } from '#sql/pool.ts'
import { announceEmails } from '#sql/sending/announce_emails.ts'
import type { EmailId } from '#sql/sending/emails.ts'
import { cancelScheduled, lockScheduled, moveScheduled, refundEmail } from '#sql/sending/scheduled_emails.ts'
import { scheduleError } from './errors.ts'

/**
 * Moves an email that is still pending. @throws {ApiError} 404, or 422 if it is not pending or the time is not allowed
 */
export async function rescheduleEmail(pool: Pool, email: EmailId, schedule: Schedule): Promise<void> {
  const { at: scheduled_at } = schedule
  await pool.transaction(async tx => {
    await requirePending(tx, email, 'rescheduled')
    const fault = schedule.fault ?? (await moveScheduled(tx, email, scheduled_at))
    if (fault) throw scheduleError(fault)
    await announceEmails(tx, [{ ...eventHead(email), type: 'scheduled', more: { scheduled_at } }])
  })
}

/**
 * Cancels an email that is still pending, and refunds its quota. @throws {ApiError} 404, or 422 if it is not pending
 */
export async function cancelEmail(pool: Pool, email: EmailId): Promise<void> {
  await pool.transaction(async tx => {
    await lockUsage(tx, email.account_id)
    await requirePending(tx, email, 'canceled')
    await cancelScheduled(tx, email)
    await refundEmail(tx, email)
    await announceEmails(tx, [{ ...eventHead(email), type: 'canceled' }])
  })
}

function eventHead({ account_id, id }: EmailId) {
  return { account_id, email_id: id }
}

/**
 * Locks the email and checks that it is pending. The worker that claims it locks the same rows: whichever of the two
 * comes second finds that the email has changed.
 */
async function requirePending(tx: Tx, email: EmailId, participle: string): Promise<void> {
  const found = await lockScheduled(tx, email)
  if (!found) throw notFound('Email')
  if (found.is_pending) return
  const state = found.status === 'scheduled' ? 'being sent' : found.status
  throw new ApiError('validation_error', `Only a scheduled email can be ${participle}; this one is ${state}.`)
}

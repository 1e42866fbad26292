import type { Task } from './task.ts'

/** Tells the sender about new emails. If it has no room for them, it claims them later without a job. */
export const send_emails: Task<'send_emails'> = async ({ email_ids }, work) => {
  await work.sender.offer(email_ids)
}

import type { Task } from './task.ts'

/** Tells the sender of new mail. Sending itself needs no job: what there is no room for now is claimed when there is. */
export const send_emails: Task<'send_emails'> = async ({ email_ids }, work) => {
  await work.sender.offer(email_ids)
}

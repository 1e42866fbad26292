import type { Task } from './task.ts'

/** Tells the webhook sender which webhooks have new events. Retries that are due need no job. */
export const deliver_webhooks: Task<'deliver_webhooks'> = ({ webhooks }, work) => work.webhooks.offer(webhooks)

import type { Task } from './task.ts'

/** Tells the sender of webhooks which have new events: what is due of them is delivered by itself. */
export const deliver_webhooks: Task<'deliver_webhooks'> = ({ webhooks }, work) => work.webhooks.offer(webhooks)

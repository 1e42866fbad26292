import { unsubscribeUnreachable } from '#flows/contacts/preferences/unsubscribe_unreachable.ts'
import type { Task } from './task.ts'

export const unsubscribe_unreachable: Task<'unsubscribe_unreachable'> = async ({ contacts }, { pool, log }) => {
  for (const contact of contacts) {
    if (await unsubscribeUnreachable(pool, contact)) log.info(contact, 'a contact whose mail bounces was unsubscribed')
  }
}

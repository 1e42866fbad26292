import { removeLeftovers } from '#flows/contacts/remove_leftovers.ts'
import type { Task } from './task.ts'

export const remove_leftovers: Task<'remove_leftovers'> = (deleted, { pool }) => removeLeftovers(pool, deleted)

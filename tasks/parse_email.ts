import { parseEmail } from '../flows/parse_email.ts'
import type { Task } from './task.ts'

export const parse_email: Task<'parse_email'> = async ({ ids }, work) => {
  for (const id of ids) await parseEmail(work, id)
}

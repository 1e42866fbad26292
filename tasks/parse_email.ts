import { parseEmail } from '../flows/parse_email.ts'
import type { Task } from './task.ts'

export const parse_email: Task<'parse_email'> = (id, work) => parseEmail(work, id)

import { parseEmails } from '#flows/receiving/parse_email.ts'
import type { Task } from './task.ts'

export const parse_email: Task<'parse_email'> = ({ ids }, work) => parseEmails(work, ids)

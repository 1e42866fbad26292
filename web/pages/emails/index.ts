import type { Room } from '#web/request/visit.ts'
import { email, emailActions } from './email.ts'
import { emails } from './emails.ts'

export const emailRoom: Room = { pages: [emails, email], actions: emailActions }

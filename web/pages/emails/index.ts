import type { Room } from '#web/request/visit.ts'
import { emailActions } from './actions.ts'
import { email, emailPreview } from './email.ts'
import { emails } from './emails.ts'

export const emailRoom: Room = { pages: [emails, email], actions: emailActions, files: [emailPreview] }

import type { Room } from '#web/request/visit.ts'
import { emailActions } from './actions.ts'
import { again, sendAgain } from './again.ts'
import { email, emailPreview } from './email.ts'
import { emails } from './emails.ts'

export const emailRoom: Room = {
  pages: [emails, email, again],
  actions: [...emailActions, sendAgain],
  files: [emailPreview],
}

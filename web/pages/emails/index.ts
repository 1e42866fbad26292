import type { Room } from '#web/request/visit.ts'
import { emailActions } from './actions.ts'
import { email, emailPreview } from './email.ts'
import { emails } from './emails.ts'
import { sendAgainAction, sendAgainPage } from './send_again.ts'

export const emailRoom: Room = {
  pages: [emails, email, sendAgainPage],
  actions: [...emailActions, sendAgainAction],
  files: [emailPreview],
}

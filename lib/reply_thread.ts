import type { ReplyTask } from './read_reply.ts'
import { categorizeReply } from './reply_category.ts'
import { ownText } from './reply_text.ts'

/** `read_reply.ts` runs this in a separate thread. */
export default function read(task: ReplyTask): string | null {
  return 'own_text_of' in task ? ownText(task.own_text_of) : categorizeReply(task.category_of)
}

import { categorizeReply } from './categorize_reply.ts'
import { ownText } from './own_text.ts'
import type { ReplyTask } from './read_reply.ts'

/** `read_reply.ts` runs this in a separate thread. */
export default function read(task: ReplyTask): string | null {
  return 'own_text_of' in task ? ownText(task.own_text_of) : categorizeReply(task.category_of)
}

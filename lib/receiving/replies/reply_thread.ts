import { categorizeReply } from './categorize_reply.ts'
import { ownText, type ReplyBody } from './own_text.ts'

export type ReplyTask = { own_text_of: ReplyBody } | { category_of: string }

/** `read_reply.ts` runs this in a thread. */
export default function read(task: ReplyTask): string | null {
  return 'own_text_of' in task ? ownText(task.own_text_of) : categorizeReply(task.category_of)
}

/** See `Threads`. The first use of a pattern compiles it, for Latin-1 and for other text: a second for all of them. */
export function ready(): void {
  for (const text of ['x', '😀']) categorizeReply(ownText({ text, html: null }))
}

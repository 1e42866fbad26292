import { Threads } from '#lib/async/threads.ts'
import type { Category } from './category.ts'
import { clipReply, type ReplyBody } from './own_text.ts'
import type { ReplyTask } from './reply_thread.ts'

/** The thread is kept for a while, since compiling its hundreds of patterns takes a second. */
const LIMITS = { count: 1, deadline_ms: 5_000, heap_mb: 128, idle_ms: 30_000 }

let threads: Threads<ReplyTask, string | null> | null = null

/** `ownText` in a thread. @throws {EndedThreadError} if it takes too long */
export async function readOwnText(reply: ReplyBody): Promise<string> {
  return (await run({ own_text_of: clipReply(reply) })) ?? ''
}

/** `categorizeReply` in a thread. @throws {EndedThreadError} if it takes too long */
export async function readCategory(text: string): Promise<Category | null> {
  return (await run({ category_of: text })) as Category | null
}

function run(task: ReplyTask): Promise<string | null> {
  threads ??= new Threads(new URL('./reply_thread.ts', import.meta.url), LIMITS)
  return threads.run(task, [])
}

import { EndedThreadError } from '#lib/async/threads.ts'
import type { Config } from '#lib/config.ts'
import type { Log } from '#lib/log.ts'
import { fetchPolicy } from '#lib/net/fetch_safely.ts'
import { AiError, askCategory } from '#lib/receiving/replies/ask_category.ts'
import type { Category } from '#lib/receiving/replies/category.ts'
import type { ReplyBody } from '#lib/receiving/replies/own_text.ts'
import { readCategory, readOwnText } from '#lib/receiving/replies/read_reply.ts'
import { refundAiCredit, takeAiCredit } from '#sql/accounts/ai_usage.ts'
import type { Pool } from '#sql/pool.ts'
import type { ReceivedEmailId } from '#sql/receiving/received_emails.ts'

export type ClassifyWork = { pool: Pool; config: Config; log: Log }

/** Returns the category of a received reply; null also if reading it takes too long. */
export async function classifyMessage(
  work: ClassifyWork,
  id: ReceivedEmailId,
  reply: ReplyBody,
): Promise<Category | null> {
  try {
    return await classifyReply(work, id, await readOwnText(reply))
  } catch (error) {
    if (!(error instanceof EndedThreadError)) throw error
    work.log.warn({ err: error }, 'a reply was not classified')
    return null
  }
}

/**
 * Returns the meaning of a reply: by the AI service if one is configured and the account has credits left, else by
 * phrases. Never called inside a transaction, since a service may be slow. A failed request costs no credit, and neither
 * does parsing a reply again.
 */
export async function classifyReply(work: ClassifyWork, id: ReceivedEmailId, text: string): Promise<Category | null> {
  if (text === '') return null
  const { pool, config, log } = work
  const { AI_URL: url, AI_KEY: key, AI_MODEL: model } = config
  if (!url || !model || !(await takeAiCredit(pool, id))) return readCategory(text)
  try {
    return await askCategory({ url, key, model }, fetchPolicy(config), text)
  } catch (error) {
    await refundAiCredit(pool, id)
    if (!(error instanceof AiError)) throw error
    log.warn({ err: error }, 'the AI service did not classify a reply')
    return readCategory(text)
  }
}

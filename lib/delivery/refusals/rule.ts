import type { Reply, ReplyClass, Stage } from '#lib/delivery/smtp_reply.ts'

/**
 * A row of the table of refusals: which replies it applies to, their class, and the reply it was made for, as a server sent it.
 * All of `words`, `status` (RFC 3463, without its first digit: `1.1`), `code` and `stages` that are given must match.
 */
export type Rule = {
  class: ReplyClass['class']
  words?: RegExp
  status?: RegExp
  code?: RegExp
  stages?: Stage[]
  reply: string
}

/** Tells whether a rule applies. `reply.text` must not contain addresses, since an address may contain any word. */
export function applies({ words, status, code, stages }: Rule, reply: Reply & { stage: Stage }): boolean {
  if (words && !words.test(reply.text)) return false
  if (status && !status.test(reply.enhanced?.slice(2) ?? '')) return false
  if (code && !code.test(String(reply.code))) return false
  return !stages || stages.includes(reply.stage)
}

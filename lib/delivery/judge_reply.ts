import { type Bounce, describeBounce } from './bounce_details.ts'
import { namedDelay } from './named_delay.ts'
import { classifyReply } from './refusals/classify_reply.ts'
import { explainReplyClass, formatReply, parseReply, type ReplyClass, type Stage } from './smtp_reply.ts'

/** The meaning of a 4xx or 5xx reply for an attempt. `retry_after`: in seconds, if a deferral names a time. */
export type Refusal = ReplyClass & { reason: string; reply: string; bounce: Bounce; retry_after?: number }

export function judgeReply(response: string, stage: Stage): Refusal {
  const parsed = parseReply(response)
  const reply_class = classifyReply({ ...parsed, stage })
  const refusal = {
    ...reply_class,
    reason: explainReplyClass(reply_class),
    reply: formatReply(response),
    bounce: describeBounce(response, reply_class),
  }
  const retry_after = reply_class.class === 'transient' ? namedDelay(parsed.text) : null
  return retry_after === null ? refusal : { ...refusal, retry_after }
}

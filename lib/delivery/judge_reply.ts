import { type Bounce, describeBounce } from './bounce_details.ts'
import { namedDelay } from './named_delay.ts'
import { classifyReply } from './refusals/classify_reply.ts'
import { explainVerdict, formatReply, parseReply, type Stage, type Verdict } from './smtp_reply.ts'

/** What a reply of 4xx or 5xx makes of an attempt. `retry_after`: seconds, of a deferral that names a time. */
export type Refusal = Verdict & { reason: string; reply: string; bounce: Bounce; retry_after?: number }

export function judgeReply(response: string, stage: Stage): Refusal {
  const parsed = parseReply(response)
  const verdict = classifyReply({ ...parsed, stage })
  const refusal = {
    ...verdict,
    reason: explainVerdict(verdict),
    reply: formatReply(response),
    bounce: describeBounce(response, verdict),
  }
  const retry_after = verdict.class === 'transient' ? namedDelay(parsed.text) : null
  return retry_after === null ? refusal : { ...refusal, retry_after }
}

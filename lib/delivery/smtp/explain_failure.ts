import { DeadlineError } from '#lib/async/timed_step.ts'
import { judgeReply, type Refusal } from '#lib/delivery/judge_reply.ts'
import { formatReply, parseReply, type Stage } from '#lib/delivery/smtp_reply.ts'
import type { Outcome } from '#lib/delivery/transport.ts'
import type { Attempt } from './data_stream.ts'
import { printable, type ServerError } from './errors.ts'
import type { SmtpServer } from './server.ts'

/**
 * `wasStale`: the server closed the connection before it looked at the message. `connection`: what must be done before another
 * message can be sent on it.
 */
export type Failure = { outcome: Outcome; wasStale: boolean; connection: 'keep' | 'reset' | 'close' }

/** Interprets the error of an attempt. The phase it reached decides if a retry is safe, never the error's code. */
export function explainFailure(error: ServerError, attempt: Attempt, server: SmtpServer, isStopped: boolean): Failure {
  // nodemailer compared the size with the server's limit and sent nothing. Treated as a refusal by the server.
  const isTooLarge = error.code === 'EMESSAGE' && error.command === 'MAIL FROM' && !error.response
  if (isTooLarge) {
    return { outcome: judgeReply(`552 5.3.4 ${error.message}`, 'mail'), wasStale: false, connection: 'keep' }
  }
  const { code } = parseReply(error.response ?? '')
  if (code >= 400) {
    const stage = stageOf(error.command, attempt.phase)
    // After a refusal in the middle of the message the rest of it is still on its way: only a new connection is clean.
    const isUnclean = code === 421 || (attempt.isBegun && attempt.phase !== 'dot')
    const outcome = judgeReply(error.response ?? '', stage)
    return {
      outcome: isAboutServer(outcome, code, stage) ? { ...outcome, is_about_server: true } : outcome,
      wasStale: code === 421 && stage === 'mail',
      connection: isUnclean ? 'close' : 'reset',
    }
  }
  const wasStale = !attempt.isBegun && !isStopped && !error.response && !(error instanceof DeadlineError)
  return { outcome: withoutReply(error, attempt, server, isStopped), wasStale, connection: 'close' }
}

/**
 * Tells whether the server takes no mail from us now, rather than not this message: it asks for another configuration, closes the
 * connection (421), or defers before it knows the recipient.
 */
function isAboutServer({ outcome, class: cause }: Refusal, code: number, stage: Stage): boolean {
  if (outcome !== 'deferred' || stage === 'dot') return false
  return cause === 'infrastructure' || code === 421 || stage === 'connect' || stage === 'mail'
}

function withoutReply(error: ServerError, { phase }: Attempt, server: SmtpServer, isStopped: boolean): Outcome {
  const cause = printable(error.message)
  if (phase === 'dot') return { outcome: 'in_doubt', reason: `No reply to the end of the message: ${cause}` }
  if (phase === 'refused') return { outcome: 'released', reason: `The message was not ended: ${cause}` }
  if (isStopped) return { outcome: 'released', reason: 'The worker stopped.' }
  const said = error.response ? { reply: formatReply(error.response) } : {}
  const reason = `The connection to ${server.label ?? server.host} failed: ${cause}`
  return { outcome: 'deferred', class: 'infrastructure', reason, is_about_server: true, ...said }
}

function stageOf(command: string | undefined, phase: Attempt['phase']): Stage {
  // nodemailer names another command for a reply without a line end, after which the connection was closed.
  if (phase === 'dot') return 'dot'
  if (command === 'MAIL FROM') return 'mail'
  if (command === 'RCPT TO') return 'rcpt'
  if (command === 'DATA') return 'data'
  return 'connect'
}

import type { SMTPServerDataStream, SMTPServerOptions, SMTPServerSession } from 'smtp-server'
import { createCountAddress, tooManySends } from '#flows/accounts/count_sends.ts'
import { createFindCaller } from '#flows/accounts/find_caller.ts'
import type { Blobs } from '#flows/files/blobs.ts'
import type { Foundation } from '#flows/process/run_process.ts'
import { isWellFormedApiKey } from '#lib/api_key.ts'
import { ApiError } from '#lib/errors.ts'
import { type Address, parseAddress } from '#lib/mail/address.ts'
import { explainUnsendable } from '#lib/mail/wide_address.ts'
import { networkOf } from '#lib/net/client_address.ts'
import { readContent } from '#lib/receiving/smtp/content.ts'
import { FailureCount } from '#lib/receiving/smtp/failure_count.ts'
import type { SmtpLimits } from '#lib/receiving/smtp/limits.ts'
import { SmtpReplyError } from '#lib/receiving/smtp/reply_error.ts'
import type { Caller } from '#sql/accounts/api_keys.ts'
import { type Listening, listenForSmtp, replyAfter } from './listener.ts'
import { createSubmitMessage } from './submit_message.ts'

/** Failed logins per network in FAILURES_MS. A sixth attempt is rejected. */
const MAX_FAILURES = 5
const FAILURES_MS = 900_000

/** Receives mail to send from clients with an API key, with the same checks as POST /emails. */
export async function startSubmission(
  foundation: Foundation,
  blobs: Blobs,
  limits: SmtpLimits,
  port: number = foundation.config.SUBMISSION_PORT,
): Promise<Listening> {
  const submission = new Submission(foundation, blobs, limits)
  return listenForSmtp(foundation, { key: 'SUBMISSION_PORT', port, limits }, submission.options())
}

class Submission {
  readonly #foundation: Foundation
  readonly #limits: SmtpLimits
  readonly #findCaller: ReturnType<typeof createFindCaller>
  readonly #countAddress: ReturnType<typeof createCountAddress>
  readonly #submit: ReturnType<typeof createSubmitMessage>
  readonly #failures = new FailureCount(MAX_FAILURES, FAILURES_MS)
  readonly #envelopes = new WeakMap<SMTPServerSession, Address[]>()

  constructor(foundation: Foundation, blobs: Blobs, limits: SmtpLimits) {
    this.#foundation = foundation
    this.#limits = limits
    this.#findCaller = createFindCaller(foundation.pool, foundation.secrets.pepper)
    this.#countAddress = createCountAddress(foundation)
    this.#submit = createSubmitMessage(foundation, blobs, limits)
  }

  options(): SMTPServerOptions {
    const toReply = (error: unknown) => this.#toReply(error)
    return {
      authMethods: ['PLAIN', 'LOGIN'],
      hideSMTPUTF8: true, // the API cannot send to such addresses yet
      hideREQUIRETLS: true, // mail is also sent to servers without TLS
      onAuth: ({ password }, session, callback) => {
        this.#logIn(password ?? '', session).then(
          key => callback(null, { user: key }),
          error => callback(toReply(error)),
        )
      },
      onMailFrom: (_address, session, callback) => replyAfter(this.#begin(session), callback, toReply),
      onRcptTo: ({ address }, session, callback) => callback(this.#addRecipient(address, session)),
      onData: (stream, session, callback) =>
        replyAfter(this.#receive(stream, session), callback, error => stream.errored ?? toReply(error)),
    }
  }

  /** Repeated for every message, since the key may be revoked during a session. */
  async #authenticate(key: string): Promise<Caller> {
    const caller = isWellFormedApiKey(key) ? await this.#findCaller(key) : null
    if (!caller?.usable) throw new SmtpReplyError(535, '5.7.8 invalid_api_key: API key is invalid, expired or revoked.')
    return caller
  }

  async #logIn(password: string, session: SMTPServerSession): Promise<string> {
    const network = networkOf(session.remoteAddress)
    if (this.#failures.isOver(network)) throw new SmtpReplyError(421, '4.7.0 Too many failed logins, try again later')
    await this.#authenticate(password).catch(error => {
      if (error instanceof SmtpReplyError) this.#failures.add(network)
      throw error
    })
    return password
  }

  async #begin(session: SMTPServerSession): Promise<undefined> {
    await this.#authenticate(keyOf(session))
    const use = this.#countAddress && (await this.#countAddress(session.remoteAddress))
    if (use && !use.isAllowed) throw tooManySends(this.#foundation.config.SENDS_PER_MINUTE, use.reset_s)
    this.#envelopes.set(session, [])
  }

  #addRecipient(address: string, session: SMTPServerSession): SmtpReplyError | null {
    const parsed = parseAddress(address)
    if (!parsed || parsed.name !== null) {
      const why = explainUnsendable(address) ?? 'Expected `email@domain`'
      return new SmtpReplyError(553, `5.1.3 invalid_to_address: ${why}.`)
    }
    this.#envelopes.get(session)?.push(parsed)
    return null
  }

  async #receive(stream: SMTPServerDataStream, session: SMTPServerSession): Promise<string> {
    const content = await readContent(stream, this.#limits)
    try {
      const caller = await this.#authenticate(keyOf(session))
      const id = await this.#submit(caller, this.#envelopes.get(session) as Address[], content)
      return `2.0.0 Accepted as ${id}`
    } finally {
      await content.close()
    }
  }

  #toReply(error: unknown): SmtpReplyError {
    const reply = toReply(error)
    if (reply.responseCode === 451 && !(error instanceof SmtpReplyError)) {
      this.#foundation.log.warn({ err: error }, 'submitted mail could not be accepted')
    }
    return reply
  }
}

function keyOf({ user }: SMTPServerSession): string {
  return (user as string | undefined) ?? ''
}

/** Translates an error of the API to an SMTP reply. The name of the error comes first, since clients branch on it. */
function toReply(error: unknown): SmtpReplyError {
  if (error instanceof SmtpReplyError) return error
  if (!(error instanceof ApiError)) return new SmtpReplyError(451, '4.3.0 Try again later', error)
  const code = codeOf(error)
  return new SmtpReplyError(Number(code.slice(0, 3)), `${code.slice(4)} ${error.name}: ${error.message}`, error)
}

/** Returns the code of the reply with the enhanced status code (RFC 3463). */
function codeOf({ name, statusCode }: ApiError): string {
  if (name === 'daily_quota_exceeded' || name === 'monthly_quota_exceeded') return '452 4.7.1'
  if (statusCode === 429) return '451 4.7.1'
  if (statusCode >= 500 || name === 'concurrent_idempotent_requests') return '451 4.3.0'
  return statusCode === 403 ? '550 5.7.1' : '554 5.6.0'
}

import type { SMTPServerDataStream, SMTPServerSession } from 'smtp-server'
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
import { type Listening, listenForSmtp } from './listener.ts'
import { createSubmitMessage } from './submit_message.ts'

/** A fifth guess is answered, a sixth is not. */
const MAX_FAILURES = 5
const FAILURES_MS = 900_000

type Callback = (error?: Error | null, message?: string) => void

/** Takes mail to send, from whoever has an API key: as POST /emails does, and with the same answers. */
export async function startSubmission(
  foundation: Foundation,
  blobs: Blobs,
  limits: SmtpLimits,
  port: number = foundation.config.SUBMISSION_PORT,
): Promise<Listening> {
  const { config, log, pool, secrets } = foundation
  const findCaller = createFindCaller(pool, secrets.pepper)
  const countAddress = createCountAddress(foundation)
  const submit = createSubmitMessage(foundation, blobs, limits)
  const failures = new FailureCount(MAX_FAILURES, FAILURES_MS)
  const envelopes = new WeakMap<SMTPServerSession, Address[]>()

  /** Asked for every message, since a session may outlive its key. */
  const authenticate = async (key: string): Promise<Caller> => {
    const caller = isWellFormedApiKey(key) ? await findCaller(key) : null
    if (!caller?.usable) throw new SmtpReplyError(535, '5.7.8 invalid_api_key: API key is invalid, expired or revoked.')
    return caller
  }

  const logIn = async (password: string, session: SMTPServerSession): Promise<string> => {
    const network = networkOf(session.remoteAddress)
    if (failures.isOver(network)) throw new SmtpReplyError(421, '4.7.0 Too many failed logins, try again later')
    await authenticate(password).catch(error => {
      if (error instanceof SmtpReplyError) failures.add(network)
      throw error
    })
    return password
  }

  const begin = async (session: SMTPServerSession): Promise<void> => {
    await authenticate(keyOf(session))
    const use = countAddress && (await countAddress(session.remoteAddress))
    if (use && !use.isAllowed) throw tooManySends(config.SENDS_PER_MINUTE, use.reset_s)
    envelopes.set(session, [])
  }

  const receive = async (stream: SMTPServerDataStream, session: SMTPServerSession): Promise<string> => {
    const content = await readContent(stream, limits)
    try {
      const caller = await authenticate(keyOf(session))
      return await submit(caller, envelopes.get(session) as Address[], content)
    } finally {
      await content.close()
    }
  }

  const answer = (error: unknown): SmtpReplyError => {
    const reply = toReply(error)
    if (reply.responseCode === 451 && !(error instanceof SmtpReplyError)) log.warn({ err: error }, 'mail was not taken')
    return reply
  }

  return listenForSmtp(
    foundation,
    { key: 'SUBMISSION_PORT', port, limits },
    {
      authMethods: ['PLAIN', 'LOGIN'],
      hideSMTPUTF8: true, // nothing is sent to such addresses yet
      onAuth({ password }, session, callback) {
        logIn(password ?? '', session).then(
          key => callback(null, { user: key }),
          error => callback(answer(error)),
        )
      },
      onMailFrom(_address, session, callback) {
        settle(begin(session), callback, answer)
      },
      onRcptTo({ address }, session, callback) {
        const parsed = parseAddress(address)
        if (!parsed || parsed.name !== null) {
          const why = explainUnsendable(address) ?? 'Expected `email@domain`'
          return callback(new SmtpReplyError(553, `5.1.3 invalid_to_address: ${why}.`))
        }
        envelopes.get(session)?.push(parsed)
        callback()
      },
      onData(stream, session, callback) {
        receive(stream, session).then(
          id => callback(null, `2.0.0 Accepted as ${id}`),
          error => callback(stream.errored ?? answer(error)),
        )
      },
    },
  )
}

function settle(act: Promise<void>, callback: Callback, answer: (error: unknown) => Error): void {
  act.then(
    () => callback(),
    error => callback(answer(error)),
  )
}

function keyOf({ user }: SMTPServerSession): string {
  return (user as string | undefined) ?? ''
}

/** What the API would answer, in words of SMTP; its name stands first, since callers branch on it. */
function toReply(error: unknown): SmtpReplyError {
  if (error instanceof SmtpReplyError) return error
  if (!(error instanceof ApiError)) return new SmtpReplyError(451, '4.3.0 Try again later', error)
  const code = codeOf(error)
  return new SmtpReplyError(Number(code.slice(0, 3)), `${code.slice(4)} ${error.name}: ${error.message}`, error)
}

/** A reply's code and the enhanced one (RFC 3463). */
function codeOf({ name, statusCode }: ApiError): string {
  if (name === 'daily_quota_exceeded' || name === 'monthly_quota_exceeded') return '452 4.7.1'
  if (statusCode === 429) return '451 4.7.1'
  if (statusCode >= 500 || name === 'concurrent_idempotent_requests') return '451 4.3.0'
  return statusCode === 403 ? '550 5.7.1' : '554 5.6.0'
}

import { readRequestKey } from '#api/middleware/idempotency.ts'
import { answerOnce, findAnswer, type Once } from '#flows/sending/answer_once.ts'
import type { RequestKey } from '#flows/sending/draft_emails.ts'
import { sendEmail } from '#flows/sending/send_email.ts'
import { answerClaimed } from '#flows/sending/together/answer_claimed.ts'
import type { ErrorName } from '#lib/errors.ts'
import type { Secrets } from '#lib/secrets.ts'
import type { NewEmail } from '#lib/sending/new_email.ts'
import type { Tx } from '#sql/pool.ts'
import type { Context } from './context.ts'

/** Errors of every operation that takes an Idempotency-Key. */
export const KEY_ERRORS: ErrorName[] = [
  ...(['invalid_idempotency_key', 'invalid_idempotent_request', 'concurrent_idempotent_requests'] as const),
]

/** Errors of every operation that sends. */
export const SEND_ERRORS: ErrorName[] = [
  ...KEY_ERRORS,
  ...(['missing_required_field', 'invalid_from_address', 'invalid_to_address', 'invalid_attachment'] as const),
  ...([
    'not_found',
    'reserved_recipient',
    'daily_quota_exceeded',
    'monthly_quota_exceeded',
    'reputation_limit_exceeded',
  ] as const),
  ...(['reputation_paused', 'sending_service_unavailable', 'sending_configuration_unavailable'] as const),
]

/** Sends the email of a request. Returns its id, or that of the first request with the same key. */
export async function sendRequested(ctx: Context, email: NewEmail, route: string): Promise<string> {
  const key = await readRequestKey(ctx, route)
  const { id, replayed } = await sendEmail(ctx, ctx.state.caller, email, key)
  if (replayed) ctx.set('idempotent-replayed', 'true')
  return id
}

/**
 * As `sendRequested`, for an email made from stored content: a repeated request gets the first response even if that content
 * is gone.
 */
export async function sendMade(ctx: Context, make: () => Promise<NewEmail>, route: string): Promise<string> {
  const known = await findKnown<{ id: string }>(ctx, await readRequestKey(ctx, route))
  if (!known) return sendRequested(ctx, await make(), route)
  ctx.set('idempotent-replayed', 'true')
  return known.id
}

/**
 * Runs `act` in one transaction. Returns its response, or that of the first request with the same key, which is stored sealed if
 * `secrets` are given.
 */
export async function answerRequested<Answer extends object>(
  ctx: Context,
  route: string,
  act: (tx: Tx) => Promise<Answer>,
  secrets: Secrets | null = null,
): Promise<Answer> {
  const key = await readRequestKey(ctx, route)
  return markReplay(ctx, await answerOnce(ctx.pool, ctx.state.caller.account_id, key, act, secrets))
}

/** As `answerRequested`, for a response with a secret that is shown only once: it is stored sealed. */
export function answerSecret<Answer extends object>(
  ctx: Context,
  route: string,
  act: (tx: Tx) => Promise<Answer>,
): Promise<Answer> {
  return answerRequested(ctx, route, act, ctx.secrets)
}

/** Describes the key of an operation that uses `answerSecret`. */
export const REPEATS_SECRET =
  'A request that is repeated with the same `Idempotency-Key` returns the same secret, which is stored encrypted for this.'

/**
 * As `answerRequested`, with work before the transaction. A repeated request with the same key skips that work, and is refused
 * while the first is in progress.
 */
export async function answerPrepared<Answer extends object>(
  ctx: Context,
  route: string,
  prepare: () => Promise<(tx: Tx) => Promise<Answer>>,
): Promise<Answer> {
  const key = await readRequestKey(ctx, route)
  return markReplay(ctx, await answerClaimed(ctx.pool, ctx.state.caller.account_id, key, prepare))
}

/** Returns the response to the first request with the same key; null if there was none. */
async function findKnown<Answer extends object>(ctx: Context, key: RequestKey | null): Promise<Answer | null> {
  if (!key) return null
  return ctx.pool.transaction(tx => findAnswer<Answer>(tx, ctx.state.caller.account_id, key))
}

function markReplay<Answer>(ctx: Context, { answer, replayed }: Once<Answer>): Answer {
  if (replayed) {
    ctx.set('idempotent-replayed', 'true')
    ctx.state.is_replay = true
  }
  return answer
}

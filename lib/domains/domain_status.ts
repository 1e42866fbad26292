import { z } from 'zod'

export const DomainStatus = z
  .enum(['not_started', 'pending', 'verified', 'partially_verified', 'partially_failed', 'failed'])
  .meta({ id: 'DomainStatus' })
export type DomainStatus = z.infer<typeof DomainStatus>

/** A domain with one of these statuses can send, and no other account can have its name. */
export const SENDABLE: readonly DomainStatus[] = ['verified', 'partially_verified', 'partially_failed']

/** For several records: all exist, one is certainly missing, or DNS did not respond. */
export type RecordState = 'ok' | 'gone' | 'unknown'

/**
 * `required`: the records without which it cannot send, or cannot receive if it does not send. `features`: the other records that
 * it should have. `return_path`: the record for its bounces; null if it has none.
 */
export type RecordStates = { required: RecordState; features: RecordState; return_path: RecordState | null }

/** `window_since`: when its verification began, when it began to wait for its features, or when a required record disappeared. */
export type DomainState = {
  status: DomainStatus
  window_since: Date | null
  verified_at: Date | null
  return_path_verified: boolean
}

/** `check_at`: when DNS is checked again; null: only on request. */
export type NextDomainState = DomainState & { check_at: Date | null }

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** How long a domain may lack required records. */
export const WINDOW_MS = 72 * HOUR_MS

/**
 * Returns the state of a domain after a DNS check. If DNS did not respond, the status neither fails nor becomes
 * verified, and the next check is soon. `spread`, from -1 to 1, distributes the next checks of many domains.
 */
export function nextDomainState(
  state: DomainState,
  recordStates: RecordStates,
  now: Date,
  spread = 0,
): NextDomainState {
  const status = nextStatus(state, recordStates, now)
  const window_since = windowOf(state, status, now)
  const isNew = isSendable(status) && !isSendable(state.status)
  const { return_path } = recordStates
  return {
    status,
    window_since,
    check_at: nextCheck(status, window_since, recordStates, now, spread),
    verified_at: isNew ? now : state.verified_at,
    return_path_verified: return_path === 'unknown' ? state.return_path_verified : return_path === 'ok',
  }
}

export function isSendable(status: DomainStatus): boolean {
  return SENDABLE.includes(status)
}

/** Tells whether a domain is checked at all. A failed one stays failed until a user asks to verify it. */
export function isChecked(status: DomainStatus): boolean {
  return status === 'pending' || isSendable(status)
}

function nextStatus({ status, window_since }: DomainState, recordStates: RecordStates, now: Date): DomainStatus {
  if (!isChecked(status)) return status
  const { required, features } = recordStates
  const isOver = window_since !== null && now.getTime() - window_since.getTime() >= WINDOW_MS
  if (required === 'gone') {
    if (status === 'verified' || status === 'partially_verified') return 'partially_failed'
    return isOver ? 'failed' : status
  }
  if (required === 'unknown') return status === 'verified' && features === 'gone' ? 'partially_verified' : status
  if (features === 'ok') return 'verified'
  return features === 'unknown' && status === 'verified' ? 'verified' : 'partially_verified'
}

function windowOf({ status, window_since }: DomainState, next: DomainStatus, now: Date): Date | null {
  if (next === 'verified' || !isChecked(next)) return null
  return next === status ? (window_since ?? now) : now
}

/** Checks are frequent at the beginning of the window and become rarer. */
function nextCheck(
  status: DomainStatus,
  window_since: Date | null,
  recordStates: RecordStates,
  now: Date,
  spread: number,
): Date | null {
  if (!isChecked(status)) return null
  const age = now.getTime() - (window_since ?? now).getTime()
  const isUnsure = Object.values(recordStates).includes('unknown')
  return new Date(now.getTime() + Math.round(delay(status, age, isUnsure) * (1 + spread / 10)))
}

const SOON_MS = 15 * MINUTE_MS

function delay(status: DomainStatus, age: number, isUnsure: boolean): number {
  switch (status) {
    case 'pending':
      // DNS has not responded for three days: the name servers may never come back.
      return age >= WINDOW_MS ? HOUR_MS : between(MINUTE_MS, age / 10, SOON_MS)
    case 'partially_verified':
      return between(5 * MINUTE_MS, age / 10, isUnsure ? SOON_MS : HOUR_MS)
    case 'partially_failed':
      return SOON_MS
    default:
      return isUnsure ? SOON_MS : 24 * HOUR_MS
  }
}

function between(min: number, value: number, max: number): number {
  return Math.min(Math.max(value, min), max)
}

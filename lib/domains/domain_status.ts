import { z } from 'zod'

export const DomainStatus = z
  .enum(['not_started', 'pending', 'verified', 'partially_verified', 'partially_failed', 'failed'])
  .meta({ id: 'DomainStatus' })
export type DomainStatus = z.infer<typeof DomainStatus>

/** Mail may be sent from a domain in one of these, and no other account may have its name. */
export const SENDABLE: readonly DomainStatus[] = ['verified', 'partially_verified', 'partially_failed']

/** Of several records: all are there, one of them is surely not, or nobody could say. */
export type Standing = 'ok' | 'gone' | 'unknown'

/**
 * `required`: what it cannot send without, or receive when it does not send. `features`: the others that it is to have.
 * `return_path`: where its bounces come back to; null when it has none.
 */
export type Standings = { required: Standing; features: Standing; return_path: Standing | null }

/** `window_since`: since when it is being verified, waits for its features, or misses what it requires. */
export type DomainState = {
  status: DomainStatus
  window_since: Date | null
  verified_at: Date | null
  return_path_verified: boolean
}

/** `check_at`: when DNS is asked again; null: when somebody asks for it. */
export type NextDomainState = DomainState & { check_at: Date | null }

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** How long it may be without what it requires. */
export const WINDOW_MS = 72 * HOUR_MS

/**
 * What a domain is after DNS was asked (contract 15.2). What nobody could say changes nothing: neither does it fail, nor
 * is it verified, and it is asked again soon. `spread`, from -1 to 1, keeps domains from being due all at once.
 */
export function nextDomainState(state: DomainState, standings: Standings, now: Date, spread = 0): NextDomainState {
  const status = nextStatus(state, standings, now)
  const window_since = windowOf(state, status, now)
  const isNew = isSendable(status) && !isSendable(state.status)
  const { return_path } = standings
  return {
    status,
    window_since,
    check_at: nextCheck(status, window_since, standings, now, spread),
    verified_at: isNew ? now : state.verified_at,
    return_path_verified: return_path === 'unknown' ? state.return_path_verified : return_path === 'ok',
  }
}

export function isSendable(status: DomainStatus): boolean {
  return SENDABLE.includes(status)
}

/** Whether DNS has a say: one that failed stays so until somebody asks for it to be verified. */
export function isChecked(status: DomainStatus): boolean {
  return status === 'pending' || isSendable(status)
}

function nextStatus({ status, window_since }: DomainState, standings: Standings, now: Date): DomainStatus {
  if (!isChecked(status)) return status
  const { required, features } = standings
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

/** By the age of its window, often at first. */
function nextCheck(
  status: DomainStatus,
  window_since: Date | null,
  standings: Standings,
  now: Date,
  spread: number,
): Date | null {
  if (!isChecked(status)) return null
  const age = now.getTime() - (window_since ?? now).getTime()
  const isUnsure = Object.values(standings).includes('unknown')
  return new Date(now.getTime() + Math.round(delay(status, age, isUnsure) * (1 + spread / 10)))
}

const SOON_MS = 15 * MINUTE_MS

function delay(status: DomainStatus, age: number, isUnsure: boolean): number {
  switch (status) {
    case 'pending':
      // Nobody could say for three days: its name servers may never come back.
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

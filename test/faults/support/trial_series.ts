import type { Stage } from './stage.ts'

export type Version = 1 | 2

/** When a contact buys: never (free plan), before its run waits for the purchase, during the wait, or after it. */
const KINDS = ['free', 'before', 'during', 'late'] as const
export type Kind = (typeof KINDS)[number]

/** The time from the start of a run to its wait. */
const PAUSE_SECONDS = 3

/** The steps that a run takes, and the subjects of its emails. */
export const WAYS: Record<Kind | 'stopped', { steps: string[]; subjects: string[] }> = {
  free: { steps: ['start', 'is_pro'], subjects: [] },
  before: { steps: ['start', 'is_pro', 'hello', 'pause', 'order', 'thanks'], subjects: ['Hello', 'Thanks'] },
  during: { steps: ['start', 'is_pro', 'hello', 'pause', 'order', 'thanks'], subjects: ['Hello', 'Thanks'] },
  late: { steps: ['start', 'is_pro', 'hello', 'pause', 'order', 'reminder'], subjects: ['Hello', 'Reminder'] },
  stopped: { steps: ['start', 'is_pro', 'hello', 'pause', 'order'], subjects: ['Hello'] },
}

/** The automation, with its version in the subjects. */
export function seriesOf({ account: { domain } }: Stage, timeout_seconds: number) {
  return (version: Version) => {
    const mail = (key: string, subject: string) => ({
      ...{ key, type: 'send_email' },
      config: { from: `hi@${domain}`, subject: `${subject} ${version}`, html: '<p>About your trial.</p>' },
    })
    const steps = [
      { key: 'start', type: 'trigger', config: { event_name: 'trial.started' } },
      {
        ...{ key: 'is_pro', type: 'condition' },
        config: { type: 'rule', field: 'event.plan', operator: 'eq', value: 'pro' },
      },
      mail('hello', 'Hello'),
      { key: 'pause', type: 'delay', config: { duration: `${PAUSE_SECONDS} seconds` } },
      {
        ...{ key: 'order', type: 'wait_for_event' },
        config: { event_name: 'trial.bought', timeout: `${timeout_seconds} seconds` },
      },
      mail('thanks', 'Thanks'),
      mail('reminder', 'Reminder'),
    ]
    const connections = [
      { from: 'start', to: 'is_pro' },
      { from: 'is_pro', to: 'hello', type: 'condition_met' },
      { from: 'hello', to: 'pause' },
      { from: 'pause', to: 'order' },
      { from: 'order', to: 'thanks', type: 'event_received' },
      { from: 'order', to: 'reminder', type: 'timeout' },
    ]
    return { name: 'Trial', status: 'enabled', domain, steps, connections }
  }
}

/** Contacts whose addresses contain their kind and the version they enter. */
export function contactsOf(version: Version, count: number): { kind: Kind; email: string }[] {
  return Array.from({ length: count }, (_, n) => {
    const kind = KINDS[n % KINDS.length] as Kind
    return { kind, email: `ok-${kind}-${version}-${n}@b.com` }
  })
}

import { now } from '#lib/clock.ts'
import { firstId } from '#lib/id_ranges.ts'
import { type Pause, pauseParty } from '#sql/safety/pauses.ts'
import { countOutcomes, listSendingAccounts, type Outcomes } from '#sql/safety/reputation.ts'
import type { Task, Work } from './task.ts'

const DAY_MS = 24 * 60 * 60_000

/** Maximum number of emails of an account that are counted, the newest first. */
const SAMPLE = 10_000

/** With fewer outcomes a rate means nothing: one bounce among three emails proves little. */
const MIN_SETTLED = 200

/** Pauses accounts and domains with too many bounces or complaints, before receivers reject the mail of everybody. */
export const check_reputation: Task<'check_reputation'> = async (_payload, work) => {
  const { PAUSE_BOUNCE_RATE, PAUSE_COMPLAINT_RATE } = work.config
  if (PAUSE_BOUNCE_RATE === 0 && PAUSE_COMPLAINT_RATE === 0) return
  const from_id = firstId(now(), -DAY_MS)
  for (const account_id of await listSendingAccounts(work.pool, from_id)) await check(work, account_id, from_id)
}

async function check(work: Work, account_id: string, from_id: string): Promise<void> {
  const simulator_domain = work.config.SIMULATOR_DOMAIN
  const domains = await countOutcomes(work.pool, { account_id, from_id, limit: SAMPLE, simulator_domain })
  const total = (key: 'settled' | 'bounced' | 'complained') => domains.reduce((sum, domain) => sum + domain[key], 0)
  const all = { settled: total('settled'), bounced: total('bounced'), complained: total('complained') }
  const pause = judge(all, work)
  if (pause) return stop(work, { account_id, domain_id: null }, pause, {})
  for (const { domain_id, domain, ...outcomes } of domains) {
    const pause = domain === null ? null : judge(outcomes, work)
    if (pause) await stop(work, { account_id, domain_id }, pause, { domain })
  }
}

type Rates = Omit<Outcomes, 'domain_id' | 'domain'>

function judge({ settled, bounced, complained }: Rates, { config }: Work): Pause | null {
  if (settled < MIN_SETTLED) return null
  const over = (count: number, limit: number) => limit > 0 && count * 100 > limit * settled
  if (over(bounced, config.PAUSE_BOUNCE_RATE)) {
    return { paused_by: 'bounces', reason: `${bounced} of the last ${settled} recipients bounced.` }
  }
  if (over(complained, config.PAUSE_COMPLAINT_RATE)) {
    return { paused_by: 'complaints', reason: `${complained} of the last ${settled} recipients complained.` }
  }
  return null
}

async function stop(work: Work, party: Parameters<typeof pauseParty>[1], pause: Pause, more: object): Promise<void> {
  if (await pauseParty(work.pool, party, pause)) work.log.warn({ ...party, ...more, ...pause }, 'sending was paused')
}

import { setTimeout as sleep } from 'node:timers/promises'
import { fillRuns, storeAutomation } from '#test/support/automation_runs.ts'
import { addContacts } from '#test/support/campaigns.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount, type TestAccount } from '#test/support/world.ts'
import { type Ask, callerOf } from './api_caller.ts'
import type { Stage } from './stage.ts'

/**
 * 95th percentiles, in ms: how late delays of other contacts of the account, and of another account, end; how long an event of
 * the other account takes to get its response; and until the run that it starts has ended.
 */
export type Lateness = {
  neighbours_p95_ms: number
  others_p95_ms: number
  event_answered_p95_ms: number
  event_done_p95_ms: number
}

/** Delays per second that end, of each account. */
const DELAYS = 50
const EVENTS = 10
const EVENT = 'order.placed'
/** How long before the first delay ends runs are stored. */
const AHEAD_SECONDS = 2
const PATIENCE_MS = 60_000

/** Contacts that are not part of a storm, of the same account and another one. */
export class Bystanders {
  readonly #stage: Stage
  readonly #other: TestAccount
  readonly #ask: Ask
  readonly #entered: string

  private constructor(stage: Stage, other: TestAccount, ask: Ask, entered: string) {
    this.#stage = stage
    this.#other = other
    this.#ask = ask
    this.#entered = entered
  }

  static async create(stage: Stage, url: string): Promise<Bystanders> {
    const other = await newAccount(stage)
    const entered = await storeAutomation(stage, other, [update], { trigger: EVENT })
    return new Bystanders(stage, other, callerOf(url, { account: other }), entered)
  }

  /** Lets delays end and sends events for this long; returns how late their results were. */
  async watch(seconds: number): Promise<Lateness> {
    const [neighbours, others] = [
      await this.#delay(this.#stage.account, seconds),
      await this.#delay(this.#other, seconds),
    ]
    const answered = await this.#sendEvents(seconds + AHEAD_SECONDS)
    await waitUntil(
      async () => (await this.#countRunning([neighbours, others])) === 0,
      'all delays have ended',
      PATIENCE_MS,
    )
    return {
      neighbours_p95_ms: await this.#lateness(neighbours),
      others_p95_ms: await this.#lateness(others),
      event_answered_p95_ms: Math.round(answered.sort((a, b) => a - b)[Math.floor(answered.length * 0.95)] as number),
      event_done_p95_ms: await this.#lateness(this.#entered, answered.length),
    }
  }

  async #delay(account: TestAccount, seconds: number): Promise<string> {
    const delay = { type: 'delay', config: { duration: '1 day' } }
    const id = await storeAutomation(this.#stage, account, [delay, update])
    const due = `now() + make_interval(secs => ${AHEAD_SECONDS} + ${seconds} * random() + 0 * length(p.email))`
    await fillRuns(this.#stage, account, id, DELAYS * seconds, due)
    // As if the run began when its delay ends: it is late from then on.
    await this.#stage.pool.pg.query('UPDATE automation_runs SET started_at = wait_until WHERE automation_id = $1', [id])
    return id
  }

  /** Returns the time to each response in ms. */
  async #sendEvents(seconds: number): Promise<number[]> {
    const emails = Array.from({ length: seconds * EVENTS }, () => `buyer-${serial++}@b.com`)
    await addContacts(this.#stage, this.#other, emails)
    const { domain } = this.#other
    const times: number[] = []
    const sending = emails.map(async (email, n) => {
      await sleep((n * 1_000) / EVENTS)
      const began = performance.now()
      await this.#ask('POST', '/events/send', { event: EVENT, domain, email })
      times.push(performance.now() - began)
    })
    await Promise.all(sending)
    await waitUntil(async () => (await this.#countRunning([this.#entered])) === 0, 'runs of events end', PATIENCE_MS)
    return times
  }

  async #countRunning(ids: string[]): Promise<number> {
    const query = `SELECT count(*)::int AS count FROM automation_runs WHERE automation_id = ANY ($1) AND status = 'running'`
    return (await this.#stage.pool.pg.query(query, [ids])).rows[0].count
  }

  /** Lateness of the newest runs of an automation, in ms. */
  async #lateness(id: string, newest: number | null = null): Promise<number> {
    const { rows } = await this.#stage.pool.pg.query(
      `SELECT 1000 * percentile_cont(0.95) WITHIN GROUP (ORDER BY extract(epoch FROM completed_at - started_at)) AS p95
       FROM (SELECT * FROM automation_runs WHERE automation_id = $1 ORDER BY id DESC LIMIT $2) r`,
      [id, newest],
    )
    return Math.round(rows[0].p95)
  }
}

const update = { type: 'contact_update', config: { last_name: 'done' } }
let serial = 0

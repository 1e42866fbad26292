import { setTimeout as sleep } from 'node:timers/promises'
import { Agent } from 'undici'
import { storeAutomation } from '#test/support/automation_runs.ts'
import { addContacts } from '#test/support/campaigns.ts'
import { newAccount, type TestAccount } from '#test/support/world.ts'
import { callerOf } from './api_caller.ts'
import type { Stage } from './stage.ts'

/** An account with two automations that are triggered by an event, which their own emails cause. */
export type Loop = { account: TestAccount; event: string; mailbox: string }

/** `sent`: accepted events. `enrolled`: started runs, according to the responses. */
export type Pings = { sent: number; enrolled: number }

const PING = 'page.viewed'
const BUSY = 'busy@b.com'

/** Each email of one automation is opened, which starts the other; a second loop works by deliveries. */
export async function makeLoops(stage: Stage): Promise<Loop[]> {
  return [await makeLoop(stage, 'email.opened', 'opened'), await makeLoop(stage, 'email.delivered', 'delivered')]
}

async function makeLoop(stage: Stage, event: string, mailbox: string): Promise<Loop> {
  const account = await newAccount(stage)
  await stage.pool.pg.query('UPDATE domains SET open_tracking = true WHERE id = $1', [account.domain_id])
  for (const subject of ['One', 'Two']) {
    const config = { from: `hi@${account.domain}`, subject, html: '<p>Hello</p>' }
    await storeAutomation(stage, account, [{ type: 'send_email', config }], { trigger: event })
  }
  return { account, event, mailbox }
}

/** Starts a loop by emails to this many new contacts. */
export async function enterLoop(stage: Stage, url: string, { account, mailbox }: Loop, count: number): Promise<void> {
  const emails = Array.from({ length: count }, () => `${mailbox}+${serial++}@${stage.config.SIMULATOR_DOMAIN}`)
  await addContacts(stage, account, emails)
  const mail = { from: `hi@${account.domain}`, subject: 'Begin', html: '<p>Hello</p>' }
  await callerOf(url, { account })(
    'POST',
    '/emails/batch',
    emails.map(to => ({ ...mail, to })),
  )
}
let serial = 0

/** Creates an automation whose runs wait for the event that starts them and inspect each one; returns its id. */
export async function makePinged(stage: Stage): Promise<string> {
  const filter_rule = { type: 'rule', field: 'event.page', operator: 'eq', value: 'never' }
  await addContacts(stage, stage.account, [BUSY])
  const wait = { type: 'wait_for_event', config: { event_name: PING, filter_rule, timeout: '1 day' } }
  return storeAutomation(stage, stage.account, [wait], { trigger: PING })
}

const CONNECTIONS = 64
const TICK_MS = 10
/** No more events are sent while this many wait for a response, like a client with a limited pool. */
const MOST_WAITING = 512

/** Sends this many events per second for one contact, until a request fails. */
export async function ping(stage: Stage, url: string, per_second: number, seconds: number): Promise<Pings> {
  const agent = new Agent({ connections: CONNECTIONS })
  const ask = callerOf(url, stage, agent)
  const { domain } = stage.account
  const pings: Pings = { sent: 0, enrolled: 0 }
  const waiting = new Set<Promise<void>>()
  const send = async (n: number) => {
    const body = { event: PING, domain, email: BUSY, payload: { page: `/${n}` } }
    const { enrolled = 0 } = await ask<{ enrolled?: number }>('POST', '/events/send', body)
    pings.sent++
    pings.enrolled += enrolled
  }
  const failed = new AbortController()
  const began = performance.now()
  for (let n = 0, passed = 0; passed < seconds; passed = (performance.now() - began) / 1_000) {
    for (; n < passed * per_second && waiting.size < MOST_WAITING; n++) {
      const sending = send(n)
      waiting.add(sending)
      sending.then(
        () => waiting.delete(sending),
        error => failed.abort(error),
      )
    }
    await sleep(TICK_MS)
    failed.signal.throwIfAborted()
  }
  await Promise.all(waiting)
  await agent.close()
  return pings
}

import { type Ask, callerOf } from './api_caller.ts'
import { BASE_URL } from './campaign_caller.ts'
import type { Supervised } from './child.ts'
import type { SinkProcess, Stage } from './stage.ts'

/** The processes that automations need: a web process at `url` with a client, two workers, and a sink for emails. */
export type AutomationProcesses = { url: string; ask: Ask; workers: [Supervised, Supervised]; sink: SinkProcess }

export async function startAutomations(stage: Stage): Promise<AutomationProcesses> {
  const sink = await stage.startSink()
  const { url } = await stage.startWeb({ BASE_URL, LOG_LEVEL: 'info' })
  const environment = { BASE_URL, MAIL_TRANSPORT: sink.url, LOG_LEVEL: 'fatal' }
  const supervise = () => stage.supervise('test/faults/support/worker.ts', environment)
  return { url, ask: callerOf(url, stage), workers: [supervise(), supervise()], sink }
}

/** Sends an event of a contact. */
export async function sendEvent(
  ask: Ask,
  { account: { domain } }: Stage,
  event: string,
  email: string,
  payload: object = {},
): Promise<void> {
  await ask('POST', '/events/send', { event, domain, email, payload })
}

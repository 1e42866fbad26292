import type { Sink } from './sink.ts'
import type { Stage } from './stage.ts'

/** `shift`: how far the clock is ahead of the database, in ms. */
export type Web = { url: string; shift: number }

/** Applies to every forked process too. */
function shifted(shift: number): Record<string, string> {
  const NODE_OPTIONS = `--import=${new URL('./shift_clock.ts', import.meta.url)}`
  return { NODE_OPTIONS, CLOCK_SHIFT_MS: String(shift) }
}

/** Starts `workers/web.ts`, whose log shows the time of its clock. */
export async function startWeb(stage: Stage, shift: number): Promise<Web> {
  const { url, child } = await stage.startWeb(shifted(shift))
  const { time } = JSON.parse(child.lines[0] as string)
  if (Math.abs(time - Date.now() - shift) > 60_000) throw new Error('its clock is not shifted')
  return { url, shift }
}

export async function startWorker(stage: Stage, sink: Sink, shift: number): Promise<void> {
  const worker = stage.start('test/faults/support/worker.ts', {
    ...shifted(shift),
    MAIL_TRANSPORT: sink.url,
    LOG_LEVEL: 'error',
  })
  await worker.says(/^ready$/)
}

/** The time of the database, in ms since 1970. */
export async function readClock({ pool }: Stage): Promise<number> {
  return (await pool.pg.query('SELECT clock_timestamp() AS now')).rows[0].now.getTime()
}

type Answer = { status: number; body: { id: string; scheduled_at: string; data: { id: string }[] } }

export async function ask(stage: Stage, url: string, path: string, init: RequestInit = {}): Promise<Answer> {
  const authorization = `Bearer ${stage.account.key}`
  const headers = { authorization, 'user-agent': 'clocks', 'content-type': 'application/json', ...init.headers }
  const response = await fetch(`${url}/api${path}`, { ...init, headers })
  return { status: response.status, body: (await response.json()) as Answer['body'] }
}

export function post(stage: Stage, url: string, fields: Record<string, unknown>, headers = {}): Promise<Answer> {
  const email = { from: `ann@${stage.account.domain}`, subject: 'Clocks', text: 'Hello', ...fields }
  return ask(stage, url, '/emails', { method: 'POST', body: JSON.stringify(email), headers })
}

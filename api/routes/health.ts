import { setTimeout as sleep } from 'node:timers/promises'
import Router from '@koa/router'
import type { Services, State } from '#api/context.ts'
import { listPendingMigrations } from '#sql/migrations.ts'

/** A health check waits at most this long, while a slow statement may take 15 s. */
const PATIENCE_MS = 2_500

const SILENT = 'the database does not answer'

export const health = new Router<State, Services>()

/** An outage that lasts longer may be one of this process alone, which to start again would end. */
const OUTAGE_MS = 30_000

/** The process lives, and Postgres has run a statement for it within 30 s, or does so now. */
health.get('/healthz', async ctx => {
  const { watchdog } = ctx.pool
  const isServing = performance.now() < watchdog.answered_at + OUTAGE_MS || (await watchdog.probe()) === 'serves'
  ctx.status = isServing ? 200 : 503
  ctx.body = isServing ? { status: 'ok' } : { status: 'unavailable', reason: SILENT }
})

/** It can serve: not stopping, the database reachable, its migrations applied. */
health.get('/readyz', async ctx => {
  const reason = ctx.readiness.isStopping ? 'stopping' : await whyNotReady(ctx)
  ctx.status = reason ? 503 : 200
  ctx.body = reason ? { status: 'unavailable', reason } : { status: 'ok' }
})

async function whyNotReady(ctx: Services): Promise<string | null> {
  try {
    const pending = await Promise.race([listPendingMigrations(ctx.pool), sleep(PATIENCE_MS, null, { ref: false })])
    if (!pending) return SILENT
    return pending.length > 0 ? 'migrations are not applied' : null
  } catch (error) {
    ctx.log.warn({ err: error }, 'not ready')
    return ctx.pool.watchdog.isSilent ? SILENT : 'the database is not reachable'
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import Router from '@koa/router'
import type { Services, State } from '#api/context.ts'
import { listPendingMigrations } from '#sql/migrations.ts'

/** Longest time that a health check waits for the database. A slow statement may take 15 s. */
const PATIENCE_MS = 2_500

const SILENT = 'the database does not respond'

export const health = new Router<State, Services>()

/** After this time, /healthz fails: the outage may affect this process alone, and a restart would end it. */
const OUTAGE_MS = 30_000

/** Liveness: the process responds, and Postgres has run a statement for it within 30 s or does so now. */
health.get('/healthz', async ctx => {
  const { watchdog } = ctx.pool
  const isServing = performance.now() < watchdog.answered_at + OUTAGE_MS || (await watchdog.probe()) === 'serves'
  ctx.status = isServing ? 200 : 503
  ctx.body = isServing ? { status: 'ok' } : { status: 'unavailable', reason: SILENT }
})

/** Readiness: the process is not stopping, the database is reachable, and all migrations are applied. */
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

import { setTimeout as sleep } from 'node:timers/promises'
import Router from '@koa/router'
import type { Services, State } from '#api/context.ts'
import { listPendingMigrations } from '#sql/migrations.ts'
import { isReadOnly } from '#sql/outage.ts'
import type { Pool } from '#sql/pool.ts'
import { refuseReadOnly } from '#sql/process/postgres_server.ts'

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

/** Readiness: the process is not stopping, the database is reachable and no standby, and all migrations are applied. */
health.get('/readyz', async ctx => {
  const reason = ctx.readiness.isStopping ? 'stopping' : await whyNotReady(ctx)
  ctx.status = reason ? 503 : 200
  ctx.body = reason ? { status: 'unavailable', reason } : { status: 'ok' }
})

async function whyNotReady({ pool, log }: Services): Promise<string | null> {
  try {
    return await Promise.race([findFault(pool), sleep(PATIENCE_MS, SILENT, { ref: false })])
  } catch (error) {
    log.warn({ err: error }, 'not ready')
    if (isReadOnly(error)) return 'the database is read-only'
    return pool.watchdog.isSilent ? SILENT : 'the database is not reachable'
  }
}

async function findFault(pool: Pool): Promise<string | null> {
  if ((await listPendingMigrations(pool)).length > 0) return 'migrations are not applied'
  await refuseReadOnly(pool)
  return null
}

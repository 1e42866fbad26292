import { setTimeout as sleep } from 'node:timers/promises'
import Router from '@koa/router'
import { listPendingMigrations } from '../../sql/migrations.ts'
import type { Services, State } from '../context.ts'

/** Whoever asks waits no longer, while a statement may take 17 s to fail where the network is gone. */
const PATIENCE_MS = 2_500

export const health = new Router<State, Services>()

/** The process lives. */
health.get('/healthz', ctx => {
  ctx.body = { status: 'ok' }
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
    if (!pending) return 'the database does not answer'
    return pending.length > 0 ? 'migrations are not applied' : null
  } catch (error) {
    ctx.log.warn({ err: error }, 'not ready')
    return 'the database is not reachable'
  }
}

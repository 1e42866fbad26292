import Router from '@koa/router'
import { listPendingMigrations } from '../../sql/migrations.ts'
import type { Services, State } from '../context.ts'

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
    const pending = await listPendingMigrations(ctx.pool)
    return pending.length > 0 ? 'migrations are not applied' : null
  } catch (error) {
    ctx.log.warn({ err: error }, 'not ready')
    return 'the database is not reachable'
  }
}

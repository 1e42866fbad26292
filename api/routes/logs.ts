import Router from '@koa/router'
import type { Services, State } from '#api/context.ts'
import { fullAccess } from '#api/middleware/auth.ts'
import { numericId, parseId, parsePage } from '#api/parse.ts'
import { notFound } from '#lib/errors.ts'
import { parse } from '#lib/json/parse.ts'
import { LogFilter } from '#lib/request_log/log_filter.ts'
import { findLog, listLogs } from '#sql/request_log/logs.ts'

/** Shows the requests that api/middleware/log_requests.ts has kept. */
export const logs = new Router<State, Services>()

logs.get('/logs', fullAccess, async ctx => {
  const position = parsePage(ctx, numericId)
  ctx.body = await listLogs(ctx.pool, ctx.state.caller.account_id, parse(LogFilter, ctx.query), position)
})

logs.get('/logs/:id', fullAccess, async ctx => {
  const log = await findLog(ctx.pool, ctx.state.caller.account_id, parseId('Log', ctx.params.id, numericId))
  if (!log) throw notFound('Log')
  ctx.body = log
})

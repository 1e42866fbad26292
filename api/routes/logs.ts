import { listOf } from '#api/operations/answers.ts'
import { numericId } from '#api/operations/ids.ts'
import { operation } from '#api/operations/operation.ts'
import { numericParam } from '#api/operations/params.ts'
import { pagedQuery } from '#api/operations/queries.ts'
import { orNotFound } from '#lib/errors.ts'
import { LogFilter } from '#lib/request_log/log_filter.ts'
import { findLog, ListedLog, LogRecord, listLogs } from '#sql/request_log/logs.ts'

/** Operations on the requests that api/middleware/log_requests.ts has stored. */
export const logs = [
  operation('GET /logs', {
    id: 'listLogs',
    access: 'full',
    summary: 'List API requests, newest first',
    query: pagedQuery(LogFilter.shape, numericId),
    answers: { 200: listOf(ListedLog) },
  }).handle(async (ctx, { account_id, query }) => {
    const { filters, position } = query()
    return listLogs(ctx.pool, account_id, filters, position)
  }),

  operation('GET /logs/:id', {
    id: 'getLog',
    access: 'full',
    params: { id: numericParam('Log') },
    summary: 'Get an API request with its bodies',
    answers: { 200: LogRecord },
  }).handle(async (ctx, { account_id, params: { id } }) => {
    return orNotFound('Log', await findLog(ctx.pool, account_id, id))
  }),
]

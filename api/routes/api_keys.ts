import Router from '@koa/router'
import { listApiKeys } from '../../sql/api_keys.ts'
import { dashboardOnly, fullAccess } from '../auth.ts'
import type { Services, State } from '../context.ts'
import { parseOptionalPage } from '../parse.ts'

export const apiKeys = new Router<State, Services>()

apiKeys.get('/api-keys', fullAccess, async ctx => {
  ctx.body = await listApiKeys(ctx.pool, ctx.state.caller.account_id, parseOptionalPage(ctx))
})

apiKeys.post('/api-keys', dashboardOnly)
apiKeys.put('/api-keys/:id', dashboardOnly)
apiKeys.patch('/api-keys/:id', dashboardOnly)
apiKeys.delete('/api-keys/:id', dashboardOnly)

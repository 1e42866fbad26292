import Router from '@koa/router'
import type { Services, State } from '#api/context.ts'
import { dashboardOnly, fullAccess } from '#api/middleware/auth.ts'
import { parseOptionalPage } from '#api/parse.ts'
import { listApiKeys } from '#sql/accounts/api_keys.ts'

export const apiKeys = new Router<State, Services>()

apiKeys.get('/api-keys', fullAccess, async ctx => {
  ctx.body = await listApiKeys(ctx.pool, ctx.state.caller.account_id, parseOptionalPage(ctx))
})

apiKeys.post('/api-keys', dashboardOnly)
apiKeys.put('/api-keys/:id', dashboardOnly)
apiKeys.patch('/api-keys/:id', dashboardOnly)
apiKeys.delete('/api-keys/:id', dashboardOnly)

import Router from '@koa/router'
import { readUncheckedBody } from '#api/bodies/read_body.ts'
import type { Context, Middleware, Services, State } from '#api/context.ts'
import { ApiError } from '#lib/errors.ts'
import { orList } from '#lib/json/requirements.ts'
import { INVALID_REQUEST, Message, ProtocolError } from './json_rpc.ts'
import { REVISIONS, respond } from './methods.ts'

/**
 * The Model Context Protocol over Streamable HTTP (revision 2025-06-18), without sessions: each request is complete, and its
 * response is one JSON object. Callers authenticate with API keys, as for the API.
 */
export function mcpRouter(authenticate: Middleware): Router<State, Services> {
  const router = new Router<State, Services>()
  router.post('/mcp', requireOwnOrigin, authenticate, readUncheckedBody, handle)
  // GET would open a stream of messages from the server, which sends none.
  router.all('/mcp', ctx => {
    ctx.status = 405
    ctx.set('allow', 'POST')
    ctx.body = { statusCode: 405, name: 'validation_error', message: 'Use `POST /mcp`.' }
  })
  return router
}

/** Rejects pages of other sites, which could otherwise use a server that only their visitor can reach (DNS rebinding). */
const requireOwnOrigin: Middleware = (ctx, next) => {
  const origin = ctx.get('origin')
  if (origin && origin !== new URL(ctx.config.BASE_URL).origin) {
    throw new ApiError('validation_error', 'Requests from pages of other sites are not accepted.', { statusCode: 403 })
  }
  return next()
}

async function handle(ctx: Context): Promise<void> {
  const { data: message } = Message.safeParse(ctx.state.body)
  ctx.status = 200
  if (!message) {
    ctx.body = failure(null, new ProtocolError(INVALID_REQUEST, 'The body must be one JSON-RPC 2.0 message.'))
    return
  }
  requireKnownRevision(ctx, message)
  // Responses and notifications get no response.
  if (message.id === undefined || message.method === undefined) {
    ctx.status = 202
    ctx.body = ''
    return
  }
  try {
    ctx.body = { jsonrpc: '2.0', id: message.id, result: await respond(ctx, message.method, message.params ?? {}) }
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error
    ctx.body = failure(message.id, error)
  }
}

/**
 * Rejects a header that names another revision of the protocol, as its revision 2025-06-18 requires. Without the header a client
 * speaks an older one. `initialize` negotiates the revision in its body.
 */
function requireKnownRevision(ctx: Context, { method }: Message): void {
  const revision = ctx.get('mcp-protocol-version')
  if (method === 'initialize' || !revision || REVISIONS.includes(revision)) return
  throw new ApiError('validation_error', `\`MCP-Protocol-Version\` must be ${orList(REVISIONS)}.`, { statusCode: 400 })
}

function failure(id: string | number | null, { code, message }: ProtocolError): object {
  return { jsonrpc: '2.0', id, error: { code, message } }
}

import type { RequestListener } from 'node:http'
import { type ParsedUrlQuery, parse } from 'node:querystring'
import Koa from 'koa'
import { mcpRouter } from '#api/mcp/route.ts'
import { answerJson } from '#api/middleware/answer_json.ts'
import { authenticate, fullAccess, hintAtPrefix } from '#api/middleware/auth.ts'
import { answerErrors } from '#api/middleware/errors.ts'
import { createRequestLog, logRequests } from '#api/middleware/log_requests.ts'
import { collapseSlashes, exceptUnderApi, keepSlashesOfAddress, onlyUnderApi } from '#api/middleware/paths.ts'
import { createCountSend } from '#api/middleware/rate_limit.ts'
import { createFindErrors, routerOf } from '#api/operations/router.ts'
import { createPublicPages } from '#api/public/pages.ts'
import { health } from '#api/routes/health.ts'
import { operations } from '#api/routes/index.ts'
import { openapiRouter } from '#api/routes/openapi.ts'
import { createFindCaller } from '#flows/accounts/find_caller.ts'
import { createRenderEmail } from '#flows/contents/render_email.ts'
import { createIngestEvent } from '#flows/events/ingest_together.ts'
import { createBlobs } from '#flows/files/blobs.ts'
import { createFindSession } from '#flows/members/sessions.ts'
import { createCountTries } from '#flows/members/tries.ts'
import type { Foundation } from '#flows/process/run_process.ts'
import { createListSegmentContacts } from '#flows/segments/list_segment_contacts.ts'
import { createAcceptEmail } from '#flows/sending/together/accept_together.ts'
import { ApiError, notFound } from '#lib/errors.ts'
import { createDns } from '#lib/net/dns.ts'
import { Connections } from '#lib/net/fetch/connections.ts'
import { fetchPolicy } from '#lib/net/fetch_safely.ts'
import { Listener } from '#sql/listener.ts'
import type { Middleware, Services, State } from './context.ts'

export type App = Koa<State, Services> & {
  readiness: Services['readiness']
  /** Responds to requests. Pixels and links of tracked emails are served without Koa. */
  listener: RequestListener
  /** Writes the logs that are left and releases the services. To be called once no request is in progress. */
  close(): Promise<void>
}

/** @param site middleware that serves the pages for people; this layer knows nothing about them */
export function createApp(foundation: Foundation, site: Middleware[] = []): App {
  const app = new Koa<State, Services>()
  const readiness = { isStopping: false }
  const services = openServices(foundation)
  const requestLog = createRequestLog(foundation)
  const { tracking, pages, close: closePages } = createPublicPages(foundation, readiness)
  Object.assign(app.context, foundation, services, { readiness })
  // Koa's own takes time that grows with the square of the number of parameters. This one reads the first 1,000.
  Object.defineProperty(app.request, 'query', { get: readQueryString })

  const api = routerOf(operations)

  app.use(closeWhenStopping as Koa.Middleware)
  app.use(tracking.middleware as Koa.Middleware)
  app.use(answerJson as Koa.Middleware)
  // Outside the error handler, so that it logs the responses to errors as well.
  if (requestLog) app.use(logRequests(requestLog) as Koa.Middleware)
  app.use(answerErrors(createFindErrors(api, operations)) as Koa.Middleware)
  app.use(requireHost as Koa.Middleware)
  app.use(keepSlashesOfAddress as Koa.Middleware)
  app.use(collapseSlashes as Koa.Middleware)
  for (const page of pages) app.use(page as Koa.Middleware)
  const findCaller = createFindCaller(foundation.pool, foundation.secrets.pepper)
  const identify = authenticate(findCaller, createFindSession(foundation))
  for (const route of [...site, health.routes(), mcpRouter(identify).routes()]) {
    app.use(exceptUnderApi(route as unknown as Middleware) as Koa.Middleware)
  }
  app.use(openapiRouter(foundation.config.BASE_URL).routes() as unknown as Koa.Middleware)
  app.use(onlyUnderApi(identify) as Koa.Middleware)
  app.use(api.routes() as unknown as Koa.Middleware)
  app.use(onlyUnderApi(unknownRoute) as Koa.Middleware)
  app.use(hintAtPrefix(findCaller) as Koa.Middleware)
  app.on('error', (error, ctx?: Koa.Context) => {
    // The client closed or reset the connection before it had read the whole response; there is nothing to fix.
    const isGone = error.code === 'ERR_STREAM_PREMATURE_CLOSE' || error === ctx?.socket.errored
    if (!isGone) foundation.log.error({ err: error }, 'a response failed')
  })
  const close = async () => {
    await Promise.all([requestLog?.stop(), closePages()])
    await services.listener.close()
    services.blobs.close()
    services.connections.close()
  }
  const answer = app.callback()
  const listener: RequestListener = (request, response) => {
    if (!tracking.answer(request, response)) answer(request, response)
  }
  return Object.assign(app, { readiness, listener, close })
}

/** Services of routes, besides the foundation. */
function openServices(foundation: Foundation) {
  const { config, pool } = foundation
  return {
    acceptEmail: createAcceptEmail(pool),
    countTries: createCountTries(foundation),
    ingestEvent: createIngestEvent(pool),
    listener: openListener(foundation),
    renderEmail: createRenderEmail(pool),
    listSegmentContacts: createListSegmentContacts(pool),
    blobs: createBlobs(foundation),
    dns: createDns(config.DNS_SERVERS),
    connections: new Connections(fetchPolicy(config)),
    countSend: createCountSend(foundation),
  }
}

function openListener({ config, log }: Foundation): Listener {
  const onError = (error: Error) =>
    log.warn({ err: error }, 'notifications of batches are not received; their rows are polled instead')
  return new Listener(config.DATABASE_URL as string, 'batches', onError)
}

function readQueryString(this: Koa.Request): ParsedUrlQuery {
  return parse(this.querystring)
}

/** Announces the end of a keep-alive connection: closing it unannounced could reset a request that was just sent. */
const closeWhenStopping: Middleware = async (ctx, next) => {
  await next()
  if (ctx.readiness.isStopping) ctx.set('connection', 'close')
}

/** Rejects requests without a Host header (RFC 9112, section 3.2). Node would reject them itself, but without a body. */
const requireHost: Middleware = (ctx, next) => {
  if (ctx.req.headers.host === undefined && ctx.req.httpVersion === '1.1') {
    throw new ApiError('validation_error', 'Missing `Host` header.', { statusCode: 400 })
  }
  return next()
}

/** A key's scope is checked before the path: a sending key learns nothing about other routes. */
const unknownRoute: Middleware = ctx => {
  const fail = () => {
    throw notFound('Route')
  }
  return fullAccess(ctx, fail as never)
}

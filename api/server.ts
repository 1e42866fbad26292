import { createServer, type Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { answerClientError } from '#api/middleware/errors.ts'
import type { Foundation, Running } from '#flows/process/run_process.ts'
import { startClockSync } from '#flows/process/sync_clock.ts'
import { listen } from '#lib/net/listen.ts'
import { type App, createApp } from './app.ts'
import type { Middleware } from './context.ts'

/** Time that requests have to finish when the process stops. */
const DRAIN_MS = 25_000

/** While the process stops, responses close their connections. Clients with open connections get this long to notice. */
const GRACE_MS = 500

/** Load balancers keep a connection open for a minute. If we closed it first, a request that was just sent could be reset. */
const LIMITS = { requestTimeout: 120_000, headersTimeout: 20_000, keepAliveTimeout: 65_000 }

/** Makes the pages for people that are served beside the API. */
export type CreateSite = (foundation: Foundation) => Middleware[]

/** Serves the API and a site on PORT. */
export async function startServer(foundation: Foundation, createSite: CreateSite): Promise<Running> {
  const app = createApp(foundation, createSite(foundation))
  const server = createHttpServer(app)
  await listen(server, foundation.config.PORT, 'PORT')
  const clock = startClockSync(foundation.pool, foundation.log)
  foundation.log.info({ port: foundation.config.PORT }, 'the API listens')

  return {
    async stop() {
      app.readiness.isStopping = true
      await sleep(GRACE_MS)
      await close(server)
      await app.close()
      clock.stop()
    },
  }
}

/** Creates a server with limits for requests. Requests that Node would reject without a body get a JSON error. */
export function createHttpServer(app: App): Server {
  const server = createServer({ ...LIMITS, requireHostHeader: false }, app.listener)
  server.on('clientError', answerClientError)
  server.on('checkExpectation', app.listener) // unknown expectations may be ignored (RFC 9110, section 10.1.1)
  return server
}

/** Accepts no new connections, waits up to DRAIN_MS for requests to finish, then closes all connections. */
async function close(server: Server): Promise<void> {
  const limit = setTimeout(() => server.closeAllConnections(), DRAIN_MS)
  await new Promise<void>(resolve => {
    server.close(() => resolve())
    server.closeIdleConnections()
  })
  clearTimeout(limit)
}

import { createServer, type Server } from 'node:http'
import { type Foundation, type Running, runProcess } from '../flows/run_process.ts'
import { StartupError } from '../lib/errors.ts'
import { createApp } from './app.ts'
import { answerClientError } from './errors.ts'

/** Requests that were begun get this long to finish when the process stops. */
const DRAIN_MS = 25_000

/** Serves the API on PORT. */
export async function startServer(foundation: Foundation): Promise<Running> {
  const app = createApp(foundation)
  const server = createServer({ requestTimeout: 120_000, headersTimeout: 20_000 }, app.callback())
  server.on('clientError', answerClientError)
  await listen(server, foundation.config.PORT)
  foundation.log.info({ port: foundation.config.PORT }, 'the API listens')

  return {
    async stop() {
      app.readiness.isStopping = true
      await close(server)
    },
  }
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const message = error.code === 'EADDRINUSE' ? `Port ${port} is taken; set PORT to another.` : error.message
      reject(new StartupError(message, { cause: error }))
    })
    server.listen(port, resolve)
  })
}

/** Takes no new connections, lets requests finish, then closes what is left. */
async function close(server: Server): Promise<void> {
  const limit = setTimeout(() => server.closeAllConnections(), DRAIN_MS)
  await new Promise<void>(resolve => {
    server.close(() => resolve())
    server.closeIdleConnections()
  })
  clearTimeout(limit)
}

if (import.meta.main) await runProcess(startServer)

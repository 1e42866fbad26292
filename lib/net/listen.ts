import type { EventEmitter } from 'node:events'
import { StartupError } from '#lib/errors.ts'

type Server = EventEmitter & { listen(port: number, onListening: () => void): unknown }

/** Listens on a port, which the variable `name` sets. @throws {StartupError} */
export function listen(server: Server, port: number, name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const message = error.code === 'EADDRINUSE' ? `Port ${port} is taken; set ${name} to another.` : error.message
      reject(new StartupError(message, { cause: error }))
    })
    server.listen(port, resolve)
  })
}

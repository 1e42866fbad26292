import type { EventEmitter } from 'node:events'
import { StartupError } from '#lib/errors.ts'

type Server = EventEmitter & { listen(port: number, onListening: () => void): unknown }

/** Listens on a port, which the variable `name` sets. @throws {StartupError} */
export function listen(server: Server, port: number, name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const message = ADVICE[error.code ?? '']?.(port, name) ?? error.message
      reject(new StartupError(message, { cause: error }))
    })
    server.listen(port, resolve)
  })
}

/** By the code of an error. */
const ADVICE: Record<string, (port: number, name: string) => string> = {
  EADDRINUSE: (port, name) => `Port ${port} is taken; set ${name} to another.`,
  EACCES: (port, name) =>
    `Only root and processes with CAP_NET_BIND_SERVICE may listen on port ${port}; allow it, or set ${name} to another.`,
}

import { once } from 'node:events'
import { createServer } from 'node:net'

/** Ports per process: as many as it may have found and not yet opened. */
const COUNT = 10

/**
 * Below the ports that the system gives to connections and servers that ask for none. Each process looks among its own, by
 * its id: else another test would now and then take one between the moment it is found and the moment it is opened.
 */
const FIRST = 20_000 + (process.pid % 1_200) * COUNT

let found = 0

/** Returns a port for a server that is started later, and perhaps again. */
export async function findFreePort(): Promise<number> {
  for (let tries = 0; tries < COUNT; tries++) {
    const port = FIRST + (found++ % COUNT)
    const server = createServer().listen(port)
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    return port
  }
  throw new Error(`All ports from ${FIRST} on are taken.`)
}

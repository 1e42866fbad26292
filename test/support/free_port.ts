import { once } from 'node:events'
import { createServer } from 'node:net'

/** Ports per process: the most it may have found and not opened yet. */
const COUNT = 10

/**
 * Below the range of ports that the system assigns by itself. Each process searches its own range, chosen by its id: otherwise
 * another test might take a port between the moment it is found and the moment it is opened.
 */
const FIRST = 20_000 + (process.pid % 1_200) * COUNT

let found = 0

/** Returns a port for a server that is started later, perhaps more than once. */
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

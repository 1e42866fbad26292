import { rm } from 'node:fs/promises'
import { SERVER_VARIABLE, startTestServer, type TestServer } from '#test/support/database/database.ts'
import { makeScratch } from '#test/support/scratch.ts'

let server: TestServer | undefined
let cache: string | undefined

/** Runs before the first test file; variables set here reach all of them. */
export async function globalSetup(): Promise<void> {
  process.env.TAP_TIMEOUT ??= '2400' // in seconds, for a whole file, which tap counts as one test: only one that hangs takes so long, even on a busy machine
  // Test files and the processes they start share compiled code, which halves the CPU time of most.
  cache = await makeScratch('mailbrook-cache-')
  process.env.NODE_COMPILE_CACHE = cache
  server = await startTestServer()
  process.env[SERVER_VARIABLE] = server.url
}

/** Runs after the last test file, also when the run is interrupted. */
export async function globalTeardown(): Promise<void> {
  await server?.stop()
  if (cache) await rm(cache, { recursive: true, force: true })
}

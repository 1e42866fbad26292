import { rm } from 'node:fs/promises'
import { SERVER_VARIABLE, startTestServer, type TestServer } from '#test/support/database/database.ts'
import { makeScratch } from '#test/support/scratch.ts'

let server: TestServer | undefined
let cache: string | undefined

/** Before the first test file: what is put into the environment here reaches all of them. */
export async function globalSetup(): Promise<void> {
  process.env.TAP_TIMEOUT ??= '600' // s for a whole file, which tap takes for one test: only one that hangs takes so long
  // Every file, and every process that one starts, reads the same program: half of what most of them do.
  cache = await makeScratch('mailbrook-cache-')
  process.env.NODE_COMPILE_CACHE = cache
  server = await startTestServer()
  process.env[SERVER_VARIABLE] = server.url
}

/** After the last one, also when the run is interrupted. */
export async function globalTeardown(): Promise<void> {
  await server?.stop()
  if (cache) await rm(cache, { recursive: true, force: true })
}

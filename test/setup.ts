import { SERVER_VARIABLE, startTestServer, type TestServer } from './database.ts'

let server: TestServer | undefined

/** Before the first test file: what is put into the environment here reaches all of them. */
export async function globalSetup(): Promise<void> {
  process.env.TAP_TIMEOUT ??= '120' // s for a whole file, which tap takes for one test
  server = await startTestServer()
  process.env[SERVER_VARIABLE] = server.url
}

/** After the last one, also when the run is interrupted. */
export async function globalTeardown(): Promise<void> {
  await server?.stop()
}

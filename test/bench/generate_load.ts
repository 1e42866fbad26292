import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

export const EMAIL = {
  from: 'Bench <bench@sandbox.internal>',
  to: ['ok@sink.internal'],
  subject: 'Your order has shipped',
  html: `<p>${'It is on its way to you. '.repeat(80)}</p>`,
}

type Load = { began: number; seconds: number }

/** Posts EMAIL `count` times from another process; answers when the first left (epoch, ms) and the seconds it took. */
export async function generateLoad(url: string, key: string, count: number, connections = 32): Promise<Load> {
  const environment = {
    LOAD_URL: url,
    LOAD_KEY: key,
    LOAD_COUNT: String(count),
    LOAD_CONNECTIONS: String(connections),
    LOAD_BODY: JSON.stringify(EMAIL),
  }
  const { stdout } = await promisify(execFile)(process.execPath, [join(import.meta.dirname, 'load.ts')], {
    env: environment,
  })
  return JSON.parse(stdout)
}

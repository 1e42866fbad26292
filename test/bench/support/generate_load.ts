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

/** `batch`: so many emails in one request. */
type Options = { connections?: number; batch?: number }

/** Posts an email `count` times from another process. Answers when it began (epoch, ms), and seconds. */
export async function generateLoad(url: string, key: string, count: number, options: Options = {}): Promise<Load> {
  const { connections = 32, batch = 0 } = options
  const environment = {
    LOAD_URL: url,
    LOAD_KEY: key,
    LOAD_COUNT: String(count),
    LOAD_CONNECTIONS: String(connections),
    LOAD_BODY: JSON.stringify(EMAIL),
    LOAD_BATCH: String(batch),
  }
  const { stdout } = await promisify(execFile)(process.execPath, [join(import.meta.dirname, 'load.ts')], {
    env: environment,
  })
  return JSON.parse(stdout)
}

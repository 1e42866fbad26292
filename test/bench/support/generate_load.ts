import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** A placeholder in the html of EMAIL, which the load replaces by a number in each email, so that no two are equal. */
const NUMBER = '0000000000'

export const EMAIL = {
  from: 'Bench <bench@sandbox.internal>',
  to: ['ok@sink.internal'],
  subject: 'Your order has shipped',
  html: `<p>Order ${NUMBER}. ${'It is on its way to you. '.repeat(80)}</p>`,
}

type Load = { began: number; seconds: number }

/** `batch`: emails per request. `equal`: all of them have the same html. */
type Options = { connections?: number; batch?: number; equal?: boolean; email?: typeof EMAIL }

/** Posts an email `count` times from another process. Returns when it began (epoch, ms), and the seconds it took. */
export async function generateLoad(url: string, key: string, count: number, options: Options = {}): Promise<Load> {
  const { connections = 32, batch = 0, equal = false, email = EMAIL } = options
  const environment = {
    LOAD_URL: url,
    LOAD_KEY: key,
    LOAD_COUNT: String(count),
    LOAD_CONNECTIONS: String(connections),
    LOAD_BODY: JSON.stringify(email),
    LOAD_NUMBER: equal ? '' : NUMBER,
    LOAD_BATCH: String(batch),
  }
  const { stdout } = await promisify(execFile)(process.execPath, [join(import.meta.dirname, 'load.ts')], {
    env: environment,
  })
  return JSON.parse(stdout)
}

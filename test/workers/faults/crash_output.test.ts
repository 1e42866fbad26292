import { execFile } from 'node:child_process'
import t from 'tap'
import { layFoundation } from '#flows/process/run_process.ts'
import { readConfig } from '#lib/config.ts'
import { createLog } from '#lib/log.ts'
import { createDatabase } from '#test/support/database/database.ts'
import { formsOf } from '#test/support/database/dump.ts'
import { ROOT } from '#test/support/root.ts'
import { SECRET_KEY } from '#test/support/world.ts'

const secret = 'canary+Secret/7261'
const encoded = encodeURIComponent(secret)
const DATABASE_URL = await createDatabase(t)
const unknown = Object.assign(new URL(DATABASE_URL), { username: 'canaryuser', password: secret }).href

for (const [environment, message] of [
  [{ MAIL_TRANSPORT: `smpt://user:${secret}@relay.acme.com` }, /^MAIL_TRANSPORT: must be/],
  [{ BLOB_STORE: `s3://AKIA:${secret}@blobs` }, /^BLOB_STORE: must look like/],
  [{ BLOB_STORE: `s3://AKIA:${encoded}@blobs?zone=x` }, /^BLOB_STORE: has an option/],
  [{ SECRET_KEY: secret }, /^SECRET_KEY: must have/],
  [{ DATABASE_URL: `postgre://ann:${encoded}@127.0.0.1:1/x` }, /^DATABASE_URL: must be/],
  [{ DATABASE_URL: `postgres://ann:${encoded}@127.0.0.1:1/x` }, /cannot be reached/],
  [{ DATABASE_URL: unknown }, /canaryuser/],
] as const) {
  t.test(`a process that cannot start logs no secrets of its environment: ${message}`, async t => {
    const lines: string[] = []
    const log = createLog('trace', { write: line => void lines.push(line) })
    const start = async () => layFoundation(readConfig({ DATABASE_URL, SECRET_KEY, ...environment }), log)
    const error = await start().catch(error => error)
    t.match(error.message, message)
    log.fatal({ err: error }, 'as reportFatal does')
    for (const form of formsOf(secret)) t.notOk(lines.join('').includes(form), lines.join(''))
  })
}

t.test('an unexpected error is logged in one record, without the row it concerns', async t => {
  const script = `
    import pg from 'pg'
    import { superviseProcess } from './flows/process/run_process.ts'
    await superviseProcess(async () => {
      const client = new pg.Client({ connectionString: process.env.DATABASE_URL })
      await client.connect()
      const insert = () => client.query("INSERT INTO plans VALUES ('${secret}', -1)")
      setTimeout(() => insert().finally(() => client.end()))
      return { stop: async () => {} }
    })`
  const text = await run(['--input-type=module', '-e', script])
  t.match(JSON.parse(text), { level: 60, err: { code: '23514', detail: '[redacted]', stack: /violates check/ } })
  t.notMatch(text, secret)
})

/** The output of a process until it ends by itself. */
function run(args: string[]): Promise<string> {
  return new Promise(resolve => {
    const options = { cwd: ROOT, env: { DATABASE_URL } }
    execFile(process.execPath, args, options, (_error, stdout, stderr) => resolve(stdout + stderr))
  })
}

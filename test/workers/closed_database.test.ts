import { randomUUID } from 'node:crypto'
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t, { type Test } from 'tap'
import { layFoundation } from '#flows/process/run_process.ts'
import { migrate } from '#sql/migrate.ts'
import { createEmptyDatabase } from '#test/support/database/database.ts'
import { findFreePort } from '#test/support/free_port.ts'
import { newAccount, testConfig } from '#test/support/world.ts'
import { startServices } from '#workers/services.ts'

/** Longer than a stop waits for a database that hangs. */
const HUNG_MS = 5_000

const faults = { 'has no connection left': 'CONNECTION LIMIT 1', 'rejects its role': 'NOLOGIN' }

for (const [fault, change] of Object.entries(faults)) {
  t.test(`npm start finishes its work when it stops while Postgres ${fault}`, async t => {
    const { url, alter } = await createRole(t)
    await migrate(url)
    const PORT = String(await findFreePort())
    const config = testConfig(url, { PORT, SMTP_PORT: '0', LOG_LEVEL: 'silent' })
    const foundation = await layFoundation(config)
    const account = await newAccount(foundation)
    await foundation.pool.end()

    const services = await startServices(config)
    const email = { from: `hello@${account.domain}`, to: 'anna@y.com', subject: 'Hello', text: 'Hello' }
    const { begun, finish } = sendSlowly(PORT, account.key, JSON.stringify(email))
    await begun
    await alter(change)
    const stopping = services.stop()
    await Promise.race([stopping, sleep(HUNG_MS)])
    t.equal(await finish(), 200, 'the request in progress')
    await stopping
  })
}

/** Begins to send an email; `finish` sends the last byte, and returns the status. */
function sendSlowly(port: string, key: string, body: string) {
  const headers = {
    ...{ authorization: `Bearer ${key}`, 'user-agent': 'test', 'content-type': 'application/json' },
    'content-length': body.length,
  }
  const sent = request({ port, path: '/api/emails', method: 'POST', headers })
  const status = new Promise((resolve, reject) => {
    sent.on('response', ({ statusCode }) => resolve(statusCode)).on('error', reject)
  })
  status.catch(() => {})
  const begun = new Promise(resolve => sent.write(body.slice(0, -1), resolve)).then(() => sleep(500))
  const finish = () => {
    sent.end(body.slice(-1))
    return status
  }
  return { begun, finish }
}

/** Creates a role with a database of its own, since limits do not apply to superusers. */
async function createRole(t: Test) {
  const url = new URL(await createEmptyDatabase(t))
  const name = url.pathname.slice(1)
  const role = `role_${randomUUID().replaceAll('-', '')}`
  const client = new pg.Client({ connectionString: url.href.replace(name, 'postgres') })
  await client.connect()
  await client.query(`CREATE ROLE ${role} LOGIN PASSWORD 'secret'; ALTER DATABASE ${name} OWNER TO ${role}`)
  t.teardown(async () => {
    await client.query(`ALTER DATABASE ${name} OWNER TO CURRENT_USER`)
    await client.query(`DROP DATABASE ${name} WITH (FORCE)`)
    await client.query(`DROP ROLE ${role}`)
    await client.end()
  })
  Object.assign(url, { username: role, password: 'secret' })
  return { url: url.href, alter: (change: string) => client.query(`ALTER ROLE ${role} ${change}`) }
}

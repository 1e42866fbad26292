import { type ParsedMail, simpleParser } from 'mailparser'
import type { Test } from 'tap'
import type { Foundation } from '#flows/process/run_process.ts'
import { startWorker } from '#workers/worker.ts'
import { type Api, startApi } from './api.ts'
import { newAccount, openWorld, type TestAccount } from './world.ts'

/** A user story told by the API alone, while a worker captures emails in the database. */
export type Walk = { world: Foundation; account: TestAccount; api: Api; ask: Ask; get: Get; post: Post; mailTo: MailTo }

/** Responses have the members that a story expects. */
type Ask = <Body>(method: string, path: string, body?: object) => Promise<Body>
type Get = <Body>(path: string) => Promise<Body>
type Post = <Body = { id: string }>(path: string, body: object) => Promise<Body>
/** Reads the newest email that arrived at an address. */
type MailTo = (address: string) => Promise<ParsedMail>

/** Opens an account whose emails link to this API. Paths are relative to `/api`. */
export async function openWalk(t: Test): Promise<Walk> {
  const world = await openWorld(t, { MAIL_TRANSPORT: 'capture' })
  const account = await newAccount(world)
  const api = await startApi(t, world, account.key)
  world.config.BASE_URL = api.url // the port was not known before
  const worker = await startWorker(world)
  t.teardown(() => worker.stop())
  const ask: Ask = async <Body>(method: string, path: string, body?: object) =>
    (await api.request(method, `/api${path}`, body === undefined ? {} : { body })).body as Body
  return {
    ...{ world, account, api, ask, get: path => ask('GET', path), post: (path, body) => ask('POST', path, body) },
    mailTo: async address => {
      const { rows } = await world.pool.pg.query(
        `SELECT c.message FROM captured_messages c JOIN deliveries d ON d.account_id = c.account_id AND d.id = c.delivery_id
         WHERE d.recipient = $1 ORDER BY d.id DESC LIMIT 1`,
        [address],
      )
      return simpleParser(rows[0].message)
    },
  }
}

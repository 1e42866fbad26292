import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Foundation, layFoundation } from '#flows/process/run_process.ts'
import { acceptEmails } from '#flows/sending/accept_emails.ts'
import { toDraft } from '#flows/sending/draft_emails.ts'
import { createLog } from '#lib/log.ts'
import { CompleteEmail } from '#lib/sending/new_email.ts'
import { ROOT } from '#test/support/root.ts'
import { newAccount, type TestAccount, testConfig } from '#test/support/world.ts'
import type { Child, Supervised } from './child.ts'
import { LedgerFile } from './ledger_file.ts'
import { Release } from './release.ts'

const PATIENCE_MS = 60_000

export type SinkProcess = { url: string; child: Child; ledger: LedgerFile }

/** The part of a stage that sends emails. */
export type Sender = { account: Pick<TestAccount, 'domain' | 'key'> }

/** The part of a stage that shows the results of sending. */
export type Database = { pool: Pick<Foundation['pool'], 'pg'> }

/** Real processes of the project on one database, with an account that can send. */
export type Stage = Foundation & {
  url: string
  account: TestAccount
  /** Starts a file; the environment contains only what is given and what every process needs. */
  start(file: string, environment?: Record<string, string>): Child
  supervise(file: string, environment?: Record<string, string>): Supervised
  /** Starts `workers/web.ts` on a free port, or the one given; resolves with its URL once it listens. */
  startWeb(environment?: Record<string, string>): Promise<{ url: string; child: Child }>
  startSink(): Promise<SinkProcess>
  close(): Promise<void>
}

export async function openStage(database_url: string): Promise<Stage> {
  const directory = await mkdtemp(join(tmpdir(), 'mailbrook-faults-'))
  const config = testConfig(database_url)
  const foundation = await layFoundation(config, createLog('silent'))
  // Unlike the processes that it watches, the test itself may wait for a connection on a busy machine.
  foundation.pool.pg.options.connectionTimeoutMillis = PATIENCE_MS
  const account = await newAccount(foundation)
  const release = new Release(ROOT, database_url)
  const ledgers: LedgerFile[] = []
  return {
    ...foundation,
    url: database_url,
    account,
    start: (file, more) => release.start(file, more),
    supervise: (file, more) => release.supervise(file, more),
    startWeb: more => release.startWeb(more),
    async startSink() {
      const file = join(directory, `ledger_${ledgers.length}`)
      const ledger = new LedgerFile(file)
      ledgers.push(ledger)
      const child = release.start('test/faults/support/sink.ts', {}, ['--ledger', file])
      return { url: `smtp://127.0.0.1:${await child.says(/^\d+$/)}`, child, ledger }
    },
    async close() {
      await release.stop()
      for (const ledger of ledgers) ledger.close()
      await foundation.pool.end()
      await rm(directory, { recursive: true })
    },
  }
}

/** Emails to this many domains: one destination alone may not use all connections. */
export const DESTINATIONS = 8

/** The nth recipient, for whom the sink behaves as the local part begins. */
export function recipient(behaviour: string, n: number): string {
  return `${behaviour}-${n}@${destination(n)}`
}

export function destination(n: number): string {
  return `d${n % DESTINATIONS}.sink.internal`
}

const AT_ONCE = 50

/** Accepts an email for each number from `from` on, like POST /emails. `behaviours` are used in turn. */
export async function feed(stage: Stage, count: number, from = 0, behaviours = ['ok']): Promise<void> {
  const { pool, account, config } = stage
  for (let n = from; n < from + count; n += AT_ONCE) {
    const numbers = Array.from({ length: Math.min(AT_ONCE, from + count - n) }, (_, i) => n + i)
    const drafts = numbers.map(number => {
      const to = recipient(behaviours[number % behaviours.length] as string, number)
      const email = CompleteEmail.parse({
        from: `hello@${account.domain}`,
        to,
        subject: `Number ${number}`,
        text: 'Hello',
      })
      return toDraft({ account_id: account.id, domain_id: null }, email, null, config.SIMULATOR_DOMAIN)
    })
    for (const answer of await acceptEmails(pool, drafts)) if ('fault' in answer) throw new Error(answer.fault)
  }
}

import type { Child } from '#test/faults/support/child.ts'
import type { Entry } from '#test/faults/support/sink_ledger.ts'
import { readStates, type Upgrade } from '#test/faults/support/upgrade.ts'
import type { Answer, AnswerBody, Api } from '#test/support/api.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { at, createTemplate, plain, templated, withFile } from './mail.ts'

type Post = { path: string; key: string; body: unknown; answer: AnswerBody }

const BATCH = 100 // emails: two slices
const SCHEDULED_MS = 9_000

/** Makes Postgres take a minute to store the last email of a batch, and its whole slice with it. */
const DAWDLE = `
  CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(60); RETURN NEW; END $$;
  CREATE TRIGGER dawdle BEFORE INSERT ON emails FOR EACH ROW WHEN (NEW.subject = 'Number batch-${BATCH - 1}')
    EXECUTE FUNCTION dawdle()`

const REFUSE = `CREATE OR REPLACE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN RAISE EXCEPTION 'not yet'; END $$`

/** Brings emails into every state, through the API of the earlier release. */
export class ManyStates {
  /** The requests that were posted with an idempotency key, to repeat them. */
  readonly posts: Post[] = []
  /** The batch that is partly stored, with the idempotency key `batch`. */
  batch: unknown[] = []
  /** The scheduled time of the email `soon`. */
  soon = new Date()
  api: Api
  readonly #upgrade: Upgrade

  constructor(upgrade: Upgrade, api: Api) {
    this.#upgrade = upgrade
    this.api = api
  }

  /** Ids of all accepted emails. */
  get ids(): string[] {
    return this.posts.flatMap(({ answer }) => answer.id ?? answer.data.map(({ id }) => id))
  }

  get batchEnds(): Record<string, string> {
    return Object.fromEntries(this.batch.map((_, n) => [`ok-batch-${n}`, 'delivered 1']))
  }

  /** Retries while an earlier request with the key is in progress. */
  async post(path: string, body: unknown, key: string): Promise<string> {
    const ask = async () => {
      const answer = await this.#ask(path, body, key)
      return answer.status !== 409 && answer
    }
    const answer = await waitUntil(ask, `a response with the key ${key}`)
    if (answer.status !== 200) throw new Error(answer.text)
    this.posts.push({ path, key, body, answer: answer.body })
    return answer.body.id
  }

  async send(email: { to: unknown; from?: string; scheduled_at?: string }): Promise<string> {
    return this.post('/api/emails', email, `to ${email.to}`)
  }

  /** Creates emails that are settled, deferred and in doubt, with a worker running. */
  async settle(): Promise<void> {
    const { account, pool } = this.#upgrade
    const sender = { account }
    await createTemplate(this.api)
    await this.send(plain(sender, 'plain', at('ok-plain')))
    await this.send(templated(sender, 'templated', at('ok-templated')))
    await this.send(withFile(sender, 'file', at('ok-file')))
    for (const name of ['complained', 'suppressed']) {
      await this.send(plain(sender, name, `${name}@simulator.internal`))
    }
    await this.#until({
      ...{ 'ok-plain': 'delivered', 'ok-templated': 'delivered', 'ok-file': 'delivered' },
      ...{ complained: 'delivered', suppressed: 'suppressed' },
    })
    await this.send(plain(sender, 'bounced', at('perm-550')))
    await this.send(plain(sender, 'held', at('drop-post-dot-held')))
    await this.#until({ 'perm-550': 'bounced', 'drop-post-dot-held': 'in_doubt' })
    await pool.pg.query(`UPDATE deliveries SET next_at = now() WHERE state = 'in_doubt'`)
    await this.#until({ 'drop-post-dot-held': 'held' })
    await this.send(plain(sender, 'doubted', at('drop-post-dot-doubted')))
    await this.send(plain(sender, 'deferred', [at('ok-deferred'), at('grey-1')]))
    await this.#until({ 'drop-post-dot-doubted': 'in_doubt', 'ok-deferred': 'delivered', 'grey-1': 'queued 1' })
  }

  /** Kills the worker while it sends two emails and the second half of a batch is stored; the first half is delivered. */
  async kill(worker: Child, arrived: readonly Entry[]): Promise<void> {
    const { account, pool } = this.#upgrade
    await pool.pg.query(DAWDLE)
    this.batch = Array.from({ length: BATCH }, (_, n) => plain({ account }, `batch-${n}`, at(`ok-batch-${n}`)))
    // It gets no response, because the web process is killed too.
    this.#ask('/api/emails/batch', this.batch, 'batch').catch(() => {})
    const asleep = `FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`
    const isAsleep = async () => (await pool.pg.query(`SELECT ${asleep}`)).rowCount
    await waitUntil(isAsleep, 'the second half is being stored')
    const isDelivered = async () => {
      const states = Object.entries(await readStates(this.#upgrade))
      const batch = states.filter(([local_part]) => local_part.startsWith('ok-batch'))
      return batch.length > 0 && batch.every(([, state]) => state === 'delivered 1')
    }
    await waitUntil(isDelivered, 'the first half is delivered')
    await this.send(plain({ account }, 'before_dot', at('stall-1')))
    await this.send(plain({ account }, 'after_dot', at('slow250-2000')))
    await this.#until({ 'stall-1': 'pre', 'slow250-2000': 'dot' })
    // The phase is stored before the message is sent.
    const hasArrived = async () => arrived.some(({ rcpt }) => rcpt === at('slow250-2000'))
    await waitUntil(hasArrived, 'the slow receiver has the message')
    worker.kill('SIGKILL')
    await worker.ended
    await pool.pg.query(`SELECT pg_terminate_backend(pid) ${asleep}`)
    await pool.pg.query(REFUSE) // otherwise a statement in progress may still store the second half
  }

  /** Lets the rest of the batch be stored. */
  async release(): Promise<void> {
    await this.#upgrade.pool.pg.query('DROP FUNCTION dawdle CASCADE')
  }

  /** Creates emails that wait, without a worker. */
  async wait(): Promise<void> {
    const { account, earlier } = this.#upgrade
    const sender = { account }
    await this.send(plain(sender, 'waiting', at('ok-waiting')))
    await this.send(templated(sender, 'waiting_templated', at('ok-waiting-templated')))
    await this.send(withFile(sender, 'file_waiting', at('ok-file-waiting')))
    await this.send({ ...plain(sender, 'tomorrow', at('ok-tomorrow')), scheduled_at: 'in 1 day' })
    const canceled = await this.send({ ...plain(sender, 'canceled', at('ok-canceled')), scheduled_at: 'in 1 day' })
    await this.api.request('POST', `/api/emails/${canceled}/cancel`)
    this.soon = new Date(Date.now() + SCHEDULED_MS)
    const from = `hello@${account.paused}`
    await this.send({ ...plain(sender, 'paused', at('ok-paused')), from })
    await this.send({ ...templated(sender, 'soon', at('ok-soon')), scheduled_at: this.soon.toISOString() })
    await earlier.admin('domain', 'pause', account.paused, '--account', account.name)
  }

  /** Repeats all requests; returns the responses that differ from the first ones. */
  async replay(): Promise<Answer[]> {
    const different: Answer[] = []
    for (const { path, key, body, answer } of this.posts) {
      const again = await this.#ask(path, body, key)
      if (again.status !== 200 || JSON.stringify(again.body) !== JSON.stringify(answer)) different.push(again)
    }
    return different
  }

  #ask(path: string, body: unknown, key: string): Promise<Answer> {
    return this.api.request('POST', path, { body, headers: { 'idempotency-key': key } })
  }

  async #until(states: Record<string, string>): Promise<void> {
    let found: Record<string, string> = {}
    const isReached = async () => {
      found = await readStates(this.#upgrade)
      return Object.entries(states).every(([local_part, state]) => found[local_part]?.includes(state))
    }
    await waitUntil(isReached, () => `${JSON.stringify(states)} of ${JSON.stringify(found)}`)
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { waitUntil } from '#test/support/wait_until.ts'
import { type Database, recipient, type Sender } from './stage.ts'

/** A response, or the code of an error instead, such as ECONNRESET. `id` is that of the first email. */
export type Answer = { status: number | string; id: string | null; at: number }

/** A request: an email with the subject `Number n`, or a batch of those with `Number n-0`, `Number n-1` and so on. */
export type Post = { path: string; body: unknown }

type Options = {
  connections?: number
  compose?: (n: number) => Post
  /** The number of the first email. Loads with numbers in common share keys. */
  first?: number
  /** The pause between a response and the next email on a connection. */
  pause_ms?: number
}
type Body = { id?: string; data?: { id: string }[]; name?: string }

const RETRY_MS = 100

/** Well-behaved callers: every email has its own key and is posted until the response is 200. */
export class Load {
  /** The ids in the responses, by the text after `Number` in the subject; there must be one each. */
  readonly ids = new Map<number | string, Set<string>>()
  readonly tally: Record<string, number> = {}
  /** The number of responses other than 200, by status, name and retry-after. */
  readonly refusals: Record<string, number> = {}
  /** performance.now() at every 200. */
  readonly accepted: number[] = []
  readonly #stage: Sender
  readonly #agent: Agent
  readonly #compose: (n: number) => Post
  readonly #pause_ms: number
  #next: number
  #isStopping = false
  #isAbandoned = false
  #posting: Promise<unknown> = Promise.resolve()

  constructor(
    stage: Sender,
    { connections = 256, compose = n => one(stage, n), first = 0, pause_ms = 0 }: Options = {},
  ) {
    this.#stage = stage
    this.#next = first
    this.#pause_ms = pause_ms
    // A connection being passed to a process that is killed never gets a response (node's cluster module forgets it).
    this.#agent = new Agent({ connections, headersTimeout: 20_000 })
    this.#compose = compose
  }

  /** Posts emails over this many connections until it is stopped; a retry may go to another url. */
  start(urls: string[], connections: number): void {
    const post = async () => {
      while (!this.#isStopping) {
        await this.send(urls, this.#next++)
        if (this.#pause_ms > 0) await sleep(this.#pause_ms)
      }
    }
    this.#posting = Promise.all(Array.from({ length: connections }, post))
  }

  /** Resolves after this many more responses with 200. */
  async accepts(count: number): Promise<void> {
    const enough = this.accepted.length + count
    await waitUntil(
      () => this.accepted.length >= enough,
      () => {
        this.#isAbandoned = true // otherwise nobody would see the reason
        return `${count} are accepted; the answers are ${JSON.stringify({ ...this.tally, ...this.refusals })}`
      },
    )
  }

  /** Resolves when the requests in progress have responses. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#posting
    await this.#agent.destroy()
  }

  /** Stops without waiting for responses. */
  abandon(): void {
    this.#isStopping = true
    this.#isAbandoned = true
  }

  /** Posts until the email is accepted. */
  async send(urls: string[], n: number): Promise<Answer[]> {
    const answers: Answer[] = []
    for (let attempt = 0; answers.at(-1)?.status !== 200 && !this.#isAbandoned; attempt++) {
      if (attempt > 0) await sleep(RETRY_MS)
      answers.push(await this.post(urls[(n + attempt) % urls.length] as string, n))
    }
    return answers
  }

  /** Posts once. */
  async post(url: string, n: number): Promise<Answer> {
    const { status, ids } = await this.#ask(url, n).catch(error => ({ status: error.code ?? error.name, ids: [] }))
    this.tally[status] = (this.tally[status] ?? 0) + 1
    const at = performance.now()
    if (ids.length > 0) this.accepted.push(at)
    for (const [name, id] of ids) this.ids.set(name, (this.ids.get(name) ?? new Set()).add(id))
    return { status, id: ids[0]?.[1] ?? null, at }
  }

  async #ask(url: string, n: number): Promise<{ status: number; ids: [number | string, string][] }> {
    const { path, body } = this.#compose(n)
    const response = await request(`${url}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${this.#stage.account.key}`,
        'user-agent': 'load',
        'idempotency-key': `key ${n}`,
      },
      body: JSON.stringify(body),
      dispatcher: this.#agent,
    })
    const { statusCode: status, headers } = response
    const { id, data = [], name } = (await response.body.json()) as Body
    if (status === 200) return { status, ids: id ? [[n, id]] : data.map(({ id }, i) => [`${n}-${i}`, id]) }
    const refusal = `${status} ${name}, retry-after ${headers['retry-after']}`
    this.refusals[refusal] = (this.refusals[refusal] ?? 0) + 1
    return { status, ids: [] }
  }
}

function one(stage: Sender, n: number): Post {
  return { path: '/api/emails', body: email(stage, n) }
}

/** An email to its own recipient, who accepts it. */
export function email({ account }: Sender, n: number | string, serial = Number(n)): Record<string, unknown> {
  return { from: `hello@${account.domain}`, to: recipient('ok', serial), subject: `Number ${n}`, text: 'Hello' }
}

/** Checks any load: each key has one email, with the id in the responses. */
export async function checkKeys({ pool }: Database, load: Load): Promise<string[]> {
  const { rows } = await pool.pg.query<{ subject: string; ids: string[] }>(
    `SELECT subject, array_agg(id::text) AS ids FROM emails WHERE subject LIKE 'Number %' GROUP BY subject`,
  )
  const stored = new Map(rows.map(({ subject, ids }) => [subject, ids]))
  const faults: string[] = []
  for (const [n, ids] of load.ids) {
    const emails = stored.get(`Number ${n}`) ?? []
    const isRight = emails.length === 1 && ids.size === 1 && ids.has(emails[0] as string)
    if (!isRight) faults.push(`key ${n} got the ids ${[...ids]} and is stored as ${emails}`)
  }
  for (const [subject, ids] of stored) if (ids.length > 1) faults.push(`${subject} is stored as ${ids}`)
  return faults
}

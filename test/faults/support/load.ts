import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { waitUntil } from '#test/support/wait_until.ts'
import { type Database, recipient, type Sender } from './stage.ts'

/** One answer, or the code of the error that came instead, such as ECONNRESET. `id` is of the first email. */
export type Answer = { status: number | string; id: string | null; at: number }

/** What is posted: an email with the subject `Number n`, or a batch of such with `Number n-0`, `Number n-1` and so on. */
export type Post = { path: string; body: unknown }

type Options = {
  connections?: number
  compose?: (n: number) => Post
  /** The number of the first email. Loads with numbers in common share keys. */
  first?: number
  /** Between an answer and the next email of a connection. */
  pause_ms?: number
}
type Body = { id?: string; data?: { id: string }[]; name?: string }

const RETRY_MS = 100

/** Callers as they should be: every email has a key of its own and is posted until it is answered with 200. */
export class Load {
  /** By what follows `Number` in the subject: every id that was answered, which must be one. */
  readonly ids = new Map<number | string, Set<string>>()
  readonly tally: Record<string, number> = {}
  /** Every answer but 200, by its status, name and retry-after. */
  readonly refusals: Record<string, number> = {}
  /** performance.now() of every 200. */
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
    // A connection on its way to a process that is killed is never answered (node's cluster hands it over and forgets it).
    this.#agent = new Agent({ connections, headersTimeout: 20_000 })
    this.#compose = compose
  }

  /** Posts one after the other over so many connections until it is stopped; a retry may go to another of the urls. */
  start(urls: string[], connections: number): void {
    const post = async () => {
      while (!this.#isStopping) {
        await this.send(urls, this.#next++)
        if (this.#pause_ms > 0) await sleep(this.#pause_ms)
      }
    }
    this.#posting = Promise.all(Array.from({ length: connections }, post))
  }

  /** Resolves when so many more were answered with 200. */
  async accepts(count: number): Promise<void> {
    const enough = this.accepted.length + count
    await waitUntil(
      () => this.accepted.length >= enough,
      () => {
        this.#isAbandoned = true // or nobody would get to see why
        return `${count} are accepted; the answers are ${JSON.stringify({ ...this.tally, ...this.refusals })}`
      },
    )
  }

  /** Resolves when what was begun is answered. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#posting
    await this.#agent.destroy()
  }

  /** Stops without waiting for answers. */
  abandon(): void {
    this.#isStopping = true
    this.#isAbandoned = true
  }

  /** Until it is accepted. */
  async send(urls: string[], n: number): Promise<Answer[]> {
    const answers: Answer[] = []
    for (let attempt = 0; answers.at(-1)?.status !== 200 && !this.#isAbandoned; attempt++) {
      if (attempt > 0) await sleep(RETRY_MS)
      answers.push(await this.post(urls[(n + attempt) % urls.length] as string, n))
    }
    return answers
  }

  /** Once. */
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

/** To a recipient of its own, who takes it. */
export function email({ account }: Sender, n: number | string, serial = Number(n)): Record<string, unknown> {
  return { from: `hello@${account.domain}`, to: recipient('ok', serial), subject: `Number ${n}`, text: 'Hello' }
}

/** What must be true of any load: an email for each key, the one whose id was answered. */
export async function checkKeys({ pool }: Database, load: Load): Promise<string[]> {
  const { rows } = await pool.pg.query<{ subject: string; ids: string[] }>(
    `SELECT subject, array_agg(id::text) AS ids FROM emails WHERE subject LIKE 'Number %' GROUP BY subject`,
  )
  const stored = new Map(rows.map(({ subject, ids }) => [subject, ids]))
  const faults: string[] = []
  for (const [n, ids] of load.ids) {
    const emails = stored.get(`Number ${n}`) ?? []
    const isRight = emails.length === 1 && ids.size === 1 && ids.has(emails[0] as string)
    if (!isRight) faults.push(`key ${n} was answered with ${[...ids]} and stored as ${emails}`)
  }
  for (const [subject, ids] of stored) if (ids.length > 1) faults.push(`${subject} is stored as ${ids}`)
  return faults
}

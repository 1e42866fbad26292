import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { recipient, type Stage } from './stage.ts'

/** One answer, or the code of the error that came instead, such as ECONNRESET. */
export type Answer = { status: number | string; id: string | null; at: number }

const RETRY_MS = 100

/** Callers as they should be: every email has a key of its own and is posted until it is answered with 200. */
export class Load {
  /** By number of the email: every id that was answered, which must be one. */
  readonly ids = new Map<number, Set<string>>()
  readonly tally: Record<string, number> = {}
  /** performance.now() of every 200. */
  readonly accepted: number[] = []
  readonly #stage: Stage
  readonly #agent = new Agent({ connections: 256, headersTimeout: 60_000 })
  #next = 0
  #isStopping = false
  #posting: Promise<unknown> = Promise.resolve()

  constructor(stage: Stage) {
    this.#stage = stage
  }

  /** Posts one after the other over so many connections until it is stopped; a retry may go to another of the urls. */
  start(urls: string[], connections: number): void {
    const post = async () => {
      while (!this.#isStopping) await this.send(urls, this.#next++)
    }
    this.#posting = Promise.all(Array.from({ length: connections }, post))
  }

  /** Resolves when what was begun is answered. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#posting
    await this.#agent.destroy()
  }

  /** Until it is accepted. */
  async send(urls: string[], n: number): Promise<Answer[]> {
    const answers: Answer[] = []
    for (let attempt = 0; answers.at(-1)?.status !== 200; attempt++) {
      if (attempt > 0) await sleep(RETRY_MS)
      answers.push(await this.post(urls[(n + attempt) % urls.length] as string, n))
    }
    return answers
  }

  /** Once. */
  async post(url: string, n: number): Promise<Answer> {
    const answer = await this.#ask(url, n).catch(error => ({ status: error.code ?? error.name, id: null }))
    this.tally[answer.status] = (this.tally[answer.status] ?? 0) + 1
    const at = performance.now()
    if (answer.id) {
      this.accepted.push(at)
      this.ids.set(n, (this.ids.get(n) ?? new Set()).add(answer.id))
    }
    return { ...answer, at }
  }

  async #ask(url: string, n: number): Promise<Omit<Answer, 'at'>> {
    const { account } = this.#stage
    const email = { from: `hello@${account.domain}`, to: recipient('ok', n), subject: `Number ${n}`, text: 'Hello' }
    const response = await request(`${url}/api/emails`, {
      method: 'POST',
      headers: { authorization: `Bearer ${account.key}`, 'user-agent': 'load', 'idempotency-key': `key ${n}` },
      body: JSON.stringify(email),
      dispatcher: this.#agent,
    })
    const { id } = (await response.body.json()) as { id?: string }
    return { status: response.statusCode, id: response.statusCode === 200 ? (id ?? null) : null }
  }
}

/** What must be true of any load: an email for each key, the one whose id was answered. */
export async function checkKeys(stage: Stage, load: Load): Promise<string[]> {
  const { rows } = await stage.pool.pg.query<{ subject: string; ids: string[] }>(
    'SELECT subject, array_agg(id::text) AS ids FROM emails GROUP BY subject',
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

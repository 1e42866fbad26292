import { setTimeout as sleep } from 'node:timers/promises'
import { waitUntil } from '#test/support/wait_until.ts'
import type { Child } from './child.ts'
import type { Stage } from './stage.ts'

type Answer = { status: number; body: { id: string; status: string; message?: string } }

/** A process is killed at most this many milliseconds after a request was sent to it. */
const KILLED_WITHIN_MS = 60
const PATIENCE_MS = 60_000

/** Campaigns need links that recipients can open; nobody opens these. */
export const BASE_URL = 'https://mail.acme.com'

/**
 * A client of the campaign routes whose web process is killed during its requests, up to `kills` times. It repeats requests
 * without a response at another process, as clients should.
 */
export class CampaignCaller {
  /** Kills so far. */
  kills = 0
  readonly #stage: Stage
  readonly #most: number
  #web: { url: string; child: Child } | null = null

  constructor(stage: Stage, kills: number) {
    this.#stage = stage
    this.#most = kills
  }

  /** Creates a campaign to all contacts of the account and sends it; returns its id. */
  async send(fields: object = {}): Promise<string> {
    const { domain, domain_id } = this.#stage.account
    const draft = {
      from: `News <news@${domain}>`,
      subject: 'Hello',
      html: '<p>Hi {{first_name}}</p>',
      send: true,
      ...fields,
    }
    const { status, body } = await this.#ask('POST', '/campaigns', { ...draft, audience_id: domain_id })
    if (status !== 201) throw new Error(body.message)
    return body.id
  }

  /** Chooses the winner of an A/B test, unless there is one. */
  async choose(id: string, variant: string): Promise<void> {
    await this.#ask('POST', `/campaigns/${id}/ab/winner`, { variant })
  }

  /** A repeated request may find that the first one succeeded. */
  async change(id: string, action: 'pause' | 'resume' | 'cancel', status: string): Promise<void> {
    await this.#ask('POST', `/campaigns/${id}/${action}`)
    const { body } = await this.#ask('GET', `/campaigns/${id}`)
    if (body.status !== status) throw new Error(`The campaign is ${body.status} after ${action}.`)
  }

  async #ask(method: string, path: string, body?: object): Promise<Answer> {
    let answer: Answer | null = null
    await waitUntil(
      async () => {
        answer = await this.#try(method, path, body)
        return answer
      },
      `${method} ${path} is answered`,
      PATIENCE_MS,
    )
    return answer as unknown as Answer
  }

  /** Null: there was no response, or Postgres is away. */
  async #try(method: string, path: string, body?: object): Promise<Answer | null> {
    if (!this.#web || this.#web.child.exit) this.#web = await this.#stage.startWeb({ BASE_URL, LOG_LEVEL: 'info' })
    const { url, child } = this.#web
    const headers = {
      ...{
        authorization: `Bearer ${this.#stage.account.key}`,
        'user-agent': 'faults',
        'content-type': 'application/json',
      },
      ...(body ? { 'idempotency-key': JSON.stringify(body).slice(0, 200) } : {}),
    }
    const asked = fetch(`${url}/api${path}`, { method, headers, body: body ? JSON.stringify(body) : null })
    const answered = asked
      .then(async response => ({ status: response.status, body: (await response.json()) as Answer['body'] }))
      .catch(() => null)
    if (method === 'POST' && this.kills < this.#most) {
      this.kills++
      await sleep(Math.random() * KILLED_WITHIN_MS)
      child.kill('SIGKILL')
      await child.ended
    }
    const answer = await answered
    return answer && answer.status < 500 ? answer : null
  }
}

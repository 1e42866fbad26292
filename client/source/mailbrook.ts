import { Caller, type MailbrookOptions } from './calls/caller.ts'
import type { BatchOptions } from './calls/options.ts'
import { Emails } from './emails.ts'
import { clientError } from './error.ts'
import { Resources } from './generated/resources.ts'
import { Webhooks } from './webhooks.ts'

/** A client for one Mailbrook server with one API key. */
export class Mailbrook extends Resources {
  override readonly emails: Emails
  override readonly webhooks: Webhooks
  /** Address of the server. */
  readonly baseUrl: string

  constructor(options: MailbrookOptions = {}) {
    const caller = new Caller(options)
    super(caller)
    this.baseUrl = caller.baseUrl
    this.emails = new Emails(caller)
    this.webhooks = new Webhooks(caller)
  }

  /**
   * Calls an operation for which this version of the client has no method: `request('GET', '/emails', { query: { limit: 1 } })`.
   * Returns the body of the response, and of a download the `Response`.
   */
  async request<Answer = unknown>(
    method: string,
    path: string,
    input: { body?: unknown; query?: object } = {},
    options?: BatchOptions,
  ): Promise<Answer> {
    if (input.body !== undefined && /^(?:GET|HEAD)$/i.test(method))
      throw clientError(`A ${method.toUpperCase()} request has no body: put the values into the query.`)
    // Copied from a page or a log, the path may begin with that of the API, or without a slash.
    const route = path.replace(/^\/*(?:api(?=\/))?\/*/, '/')
    return this.caller.any<Answer>(method, route, { ...input, keyed: options?.idempotencyKey !== undefined }, options)
  }
}

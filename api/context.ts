import type { RouterContext, RouterMiddleware } from '@koa/router'
import type { ImportFile } from '#flows/contacts/import/create_import.ts'
import type { RenderEmail } from '#flows/contents/render_email.ts'
import type { IngestEvent } from '#flows/events/ingest_together.ts'
import type { Foundation } from '#flows/process/run_process.ts'
import type { ListSegmentContacts } from '#flows/segments/list_segment_contacts.ts'
import type { BatchServices } from '#flows/sending/send_batch.ts'
import type { SendingServices } from '#flows/sending/send_email.ts'
import type { Dns } from '#lib/net/dns.ts'
import type { Connections } from '#lib/net/fetch/connections.ts'
import type { Caller } from '#sql/accounts/api_keys.ts'
import type { Use, UseCounter } from '#sql/accounts/rate_limits.ts'

/** Counts a send of the requesting client. */
export type CountSend = (ctx: Context) => Promise<Use>

/** Services of every route, besides Koa's own. */
export type Services = Foundation &
  SendingServices &
  BatchServices & {
    ingestEvent: IngestEvent
    renderEmail: RenderEmail
    listSegmentContacts: ListSegmentContacts
    dns: Dns
    /** Connections to the endpoints of webhooks. */
    connections: Connections
    countSend: CountSend | null
    /** Counts wrong passwords and passkeys. */
    countTries: UseCounter
    readiness: { isStopping: boolean }
  }

/**
 * `caller`: the owner of the API key; `body`: the parsed JSON, undefined without a body; `file`: the file of a form;
 * `is_replay`: the response is that of an earlier request with the same Idempotency-Key.
 */
export type State = { caller: Caller; body: unknown; file?: ImportFile; is_replay?: boolean }

export type Context = RouterContext<State, Services>
export type Middleware = RouterMiddleware<State, Services>

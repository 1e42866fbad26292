import { requireDomain } from '#flows/contacts/contact_domain.ts'
import { storeContact } from '#flows/contacts/save_contact.ts'
import { writeContacts } from '#flows/contacts/write_contacts.ts'
import type { RequestKey } from '#flows/sending/draft_emails.ts'
import { concurrent, keyConflict } from '#flows/sending/errors.ts'
import { ApiError, notFound } from '#lib/errors.ts'
import { findWrongType } from '#lib/events/new_definition.ts'
import type { NewEvent } from '#lib/events/new_event.ts'
import { newId } from '#lib/ids.ts'
import type { Caller } from '#sql/accounts/api_keys.ts'
import type { ConsentOrigin } from '#sql/contacts/consents.ts'
import { type EventDraft, type IngestedEvent, type Ingestion, ingestEvents } from '#sql/events/contact_events.ts'
import { findDefinition } from '#sql/events/definitions.ts'
import type { Pool } from '#sql/pool.ts'
import type { IngestEvent } from './ingest_together.ts'

/** `ingestEvent`: shared by the whole process, so that concurrent events share commits. */
type Services = { pool: Pool; ingestEvent: IngestEvent }

/** `replayed`: the answer is that of an earlier request with the same key. */
export type SentEvent = IngestedEvent & { replayed: boolean }

/**
 * Stores an event of a contact with all its effects in one commit: runs that it starts or wakes, and a new contact if
 * the domain has none with its address.
 *
 * With a key, an invalid event does not fail early: a retry gets the answer of the first request even if the contact is
 * gone by then.
 *
 * @throws {ApiError} 404, `validation_error`, `automation_quota_exceeded`, `contacts_busy`, the errors of keys
 */
export async function sendEvent(
  { pool, ingestEvent }: Services,
  caller: Caller,
  event: NewEvent,
  key: RequestKey | null,
  origin: ConsentOrigin,
): Promise<SentEvent> {
  const domain_id = await checkEvent(pool, caller, event).catch(error => asRefusal(error, key))
  const refusal = domain_id instanceof ApiError ? domain_id : null
  const draft = toDraft(caller.account_id, refusal ? null : (domain_id as string), event, key)
  const ingestion = await ingestEvent(draft)
  const isNobody = ingestion.outcome === 'no_contact' && 'email' in event.who
  return toSent(isNobody ? await ingestWithContact(pool, draft, origin) : ingestion, refusal)
}

/** Returns the id of the domain. @throws {ApiError} `validation_error` for a wrong domain or payload */
async function checkEvent(pool: Pool, caller: Caller, { name, domain, payload }: NewEvent): Promise<string> {
  const [domain_id, definition] = await Promise.all([
    requireDomain(pool, { caller, domain }),
    findDefinition(pool, caller.account_id, { id: null, name }),
  ])
  const fault = definition && findWrongType(definition.schema, payload)
  if (fault) throw new ApiError('validation_error', fault)
  return domain_id
}

function asRefusal(error: unknown, key: RequestKey | null): ApiError {
  if (error instanceof ApiError && key !== null) return error
  throw error
}

function toDraft(
  account_id: string,
  domain_id: string | null,
  { name, who, payload }: NewEvent,
  key: RequestKey | null,
): EventDraft {
  return {
    ...{ account_id, domain_id, name, payload, is_refused: domain_id === null },
    ...{ contact_id: 'contact_id' in who ? who.contact_id : null, email: 'email' in who ? who.email : null },
    ...(key ?? { route: null, key: null, fingerprint: null }),
    // 62 bits of the tail are random.
    tail: newId().replaceAll('-', '').slice(-16),
  }
}

/**
 * Creates the contact and stores the event in a separate commit, under the contact lock of the account. Rolled back if
 * the event is not stored.
 */
async function ingestWithContact(pool: Pool, draft: EventDraft, origin: ConsentOrigin): Promise<Ingestion> {
  const place = { account_id: draft.account_id, domain_id: draft.domain_id as string, audience_id: null }
  return writeContacts(pool, place, async tx => {
    await storeContact(tx, place, { email: draft.email as string }, origin, 'event')
    const [ingestion] = (await ingestEvents(tx, [draft])) as [Ingestion]
    // A replay is fine: a request with the same key may have created the contact meanwhile.
    if (ingestion.outcome === 'stored' || ingestion.outcome === 'replayed') return ingestion
    throw faultOf(ingestion, null)
  })
}

function toSent(ingestion: Ingestion, refusal: ApiError | null): SentEvent {
  const { outcome, answer } = ingestion
  if (outcome !== 'stored' && outcome !== 'replayed') throw faultOf(ingestion, refusal)
  return { ...(answer as IngestedEvent), replayed: outcome === 'replayed' }
}

function faultOf({ outcome }: Ingestion, refusal: ApiError | null): ApiError {
  switch (outcome) {
    case 'key_conflict':
      return keyConflict()
    case 'concurrent':
      return concurrent()
    case 'quota':
      return quotaExceeded()
    default:
      return refusal ?? notFound('Contact')
  }
}

function quotaExceeded(): ApiError {
  const message =
    'The event would start more automation runs than your plan has left in these 30 days. Nothing was stored.'
  return new ApiError('automation_quota_exceeded', message)
}

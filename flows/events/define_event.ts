import type { z } from 'zod'
import { notFound } from '#lib/errors.ts'
import type { NewEventDefinition } from '#lib/events/new_definition.ts'
import { newId } from '#lib/ids.ts'
import { listRecentEvents, type RecentEvent } from '#sql/events/contact_events.ts'
import { type EventDefinition, type EventRef, findDefinition, insertDefinition } from '#sql/events/definitions.ts'
import type { Queryable, Tx } from '#sql/pool.ts'
import { refuseDuplicate } from '#sql/retry.ts'

/** Adds a definition. @throws {ApiError} 422 if the account has one of this name */
export async function defineEvent(
  tx: Tx,
  account_id: string,
  { name, schema }: z.output<typeof NewEventDefinition>,
): Promise<EventDefinition> {
  const inserted = insertDefinition(tx, account_id, { id: newId(), name, schema })
  return inserted.catch(refuseDuplicate('`name` is used by another event definition.', 422))
}

/**
 * Returns the newest 100 events of a name, newest first. @throws {ApiError} 404 if it has neither a definition nor
 * events
 */
export async function readRecentEvents(db: Queryable, account_id: string, ref: EventRef): Promise<RecentEvent[]> {
  const definition = await findDefinition(db, account_id, ref)
  const events = await listRecentEvents(db, account_id, definition?.name ?? ref.name)
  if (!definition && events.length === 0) throw notFound('Event')
  return events
}

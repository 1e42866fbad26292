import { z } from 'zod'
import { PayloadType } from '#lib/events/new_definition.ts'
import { type Page, type Position, readHeavyPage } from '#sql/page.ts'
import { type Queryable, sql } from '#sql/pool.ts'

export const EventDefinition = z
  .object({
    object: z.literal('event'),
    id: z.string(),
    name: z.string().describe('Name of the event.'),
    schema: z.record(z.string(), PayloadType).describe('Types by the keys of payloads.'),
    created_at: z.date(),
    updated_at: z.date(),
  })
  .meta({ id: 'EventDefinition' })
export type EventDefinition = z.infer<typeof EventDefinition>

const columns = sql.fragment`'event' AS object, id, name, schema, created_at, updated_at`

/** Reference to an event: the id of its definition, or its name, which may look like an id. */
export type EventRef = { id: string | null; name: string }

type NewDefinition = Pick<EventDefinition, 'id' | 'name' | 'schema'>

/** Adds a definition. Throws SQLSTATE 23505 if the account has one of this name. */
export async function insertDefinition(
  db: Queryable,
  account_id: string,
  { id, name, schema }: NewDefinition,
): Promise<EventDefinition> {
  return db.one(sql.type(EventDefinition)`
    INSERT INTO event_definitions (account_id, id, name, schema) VALUES (${account_id}, ${id}, ${name}, ${JSON.stringify(schema)})
    RETURNING ${columns}
  `)
}

export async function findDefinition(
  db: Queryable,
  account_id: string,
  ref: EventRef,
): Promise<EventDefinition | null> {
  return db.maybeOne(sql.prepared('find_event_definition', EventDefinition)`
    SELECT ${columns} FROM event_definitions d WHERE d.account_id = ${account_id} AND (d.id = ${ref.id} OR d.name = ${ref.name})
    ORDER BY (d.id = ${ref.id}) DESC NULLS LAST LIMIT 1
  `)
}

/** Changes the schema of a definition, if one is given. */
export async function updateDefinition(
  db: Queryable,
  account_id: string,
  id: string,
  schema: EventDefinition['schema'] | undefined,
): Promise<void> {
  if (schema === undefined) return
  await db.run(sql.unsafe`
    UPDATE event_definitions SET schema = ${JSON.stringify(schema)}, updated_at = now()
    WHERE account_id = ${account_id} AND id = ${id}
  `)
}

export async function deleteDefinition(db: Queryable, account_id: string, id: string): Promise<number> {
  return db.run(sql.unsafe`DELETE FROM event_definitions WHERE account_id = ${account_id} AND id = ${id}`)
}

export async function listDefinitions(
  db: Queryable,
  account_id: string,
  position: Position,
): Promise<Page<EventDefinition>> {
  return readHeavyPage(db, position, {
    type: EventDefinition,
    ids: (where, order, limit) =>
      sql.fragment`SELECT id FROM event_definitions WHERE account_id = ${account_id} AND ${where} ORDER BY ${order} LIMIT ${limit}`,
    row: id =>
      sql.fragment`SELECT ${columns} FROM event_definitions d WHERE d.account_id = ${account_id} AND d.id = ${id}`,
  })
}

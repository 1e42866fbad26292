import { z } from 'zod'
import { OnConflict } from '#lib/contacts/contact_batch.ts'
import { Subscription } from '#lib/contacts/new_contact.ts'
import { PropertyType } from '#lib/contacts/new_property.ts'

/** Members of a contact that columns of a file can set, besides properties. */
export const MEMBERS = ['email', 'first_name', 'last_name', 'unsubscribed', 'do_not_track', 'timezone'] as const

/** A column of a file, by its index, and what its cells become: a member of a contact, a property, or its choice about a topic. */
const Column = z.object({
  index: z.int(),
  name: z.string(),
  member: z.enum([...MEMBERS, 'property', 'topic']),
  /** Only for a property. */
  stored_as: z.string().optional(),
  type: PropertyType.optional(),
  /** Only for a topic. */
  topic_id: z.string().optional(),
})
export type Column = z.infer<typeof Column>

/**
 * How the file of an import is parsed and what its rows do; stored with the import. `stored_as` lists the names of all columns'
 * properties.
 */
export const ImportOptions = z.object({
  encoding: z.string(),
  delimiter: z.string(),
  /** Number of columns in the header. */
  width: z.int(),
  columns: z.array(Column),
  ignored_columns: z.array(z.string()),
  stored_as: z.array(z.string()),
  on_conflict: OnConflict,
  resubscribe: z.boolean(),
  /** Missing in imports of earlier versions. */
  trigger_automations: z.boolean().optional(),
  segments: z.array(z.string()),
  topics: z.array(z.object({ id: z.string(), subscription: Subscription })),
})
export type ImportOptions = z.infer<typeof ImportOptions>

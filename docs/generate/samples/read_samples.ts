import type { Method } from '../client/read_methods.ts'
import samples from './samples.json' with { type: 'json' }

/** The example body of an operation, and its required query parameters. */
export type Sample = { body: unknown; query: Record<string, string> }

const QUERIES: Record<string, Record<string, string>> = { checkMx: { name: 'acme.com' } }

/** @throws if the operation takes a body and samples.json has none for it */
export function sampleOf({ operation_id, body }: Method): Sample {
  const found = (samples as Record<string, unknown>)[operation_id]
  if (body && found === undefined) throw new Error(`samples.json has no body for ${operation_id}`)
  return { body: found, query: QUERIES[operation_id] ?? {} }
}

/** Returns the placeholder for a parameter, such as `SEGMENT_ID` for `segment_id`. */
export function placeholderOf(name: string): string {
  return name.toUpperCase().replaceAll('-', '_')
}

import { z } from 'zod'

/** An answer that is no JSON. */
export type Bytes = { content_type: string; description: string }

export function bytes(content_type: string, description: string): Bytes {
  return { content_type, description }
}

export function listOf<Item extends z.ZodType>(item: Item) {
  return z.object({ object: z.literal('list'), has_more: z.boolean(), data: z.array(item) })
}

/** The answer to a change. */
export function changed<Name extends string>(object: Name) {
  return z.object({ object: z.literal(object), id: z.string() })
}

export function deleted<Name extends string>(object: Name) {
  return changed(object).extend({ deleted: z.literal(true) })
}

import { createHash } from 'node:crypto'
import type { Addressed } from '#sql/campaigns/addressed.ts'

/** Returns a number for the state of the segment and the topic of a campaign, and of all that the segment refers to. */
export function definitionOf({
  segment,
  topic,
  terms: { properties, topics, segments, campaigns },
}: Addressed): number {
  const parts = [
    segment && [segment.filter, segment.rules],
    topic && [topic.id, topic.default_subscription],
    inOrder([...properties]),
    inOrder([...topics]),
    inOrder([...segments].map(([id, { filter, rules }]) => [id, filter, rules])),
    inOrder([...campaigns]),
  ]
  return createHash('sha256').update(JSON.stringify(parts)).digest().readUIntBE(0, 6)
}

/** The rows come from Postgres in any order. */
function inOrder(rows: unknown[]): string[] {
  return rows.map(row => JSON.stringify(row)).sort()
}

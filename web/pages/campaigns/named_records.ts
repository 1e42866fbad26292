import type { Campaign } from '#sql/campaigns/campaign_records.ts'
import type { Html } from '#web/html.ts'
import { recordLink } from '#web/layout/record_page.ts'
import type { Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

type Reference = 'audience_id' | 'segment_id' | 'topic_id' | 'template_id'

const REFERENCES: [title: string, reference: Reference, operation: string, path: string][] = [
  ['Audience', 'audience_id', 'getAudience', '/audiences'],
  ['Segment', 'segment_id', 'getSegment', '/segments'],
  ['Topic', 'topic_id', 'getTopic', '/topics'],
  ['Template', 'template_id', 'getTemplate', '/templates'],
]

/** Returns the audience, the segment, the topic and the template of a campaign, with links. */
export function namedRecords(visit: Visit, found: Wire<Campaign>): Promise<[title: string, value: Html | null][]> {
  const entries = REFERENCES.map(async ([title, reference, operation, path]): Promise<[string, Html | null]> => {
    const id = found[reference]
    return [title, id === null ? null : await recordLink(visit, operation, path, id)]
  })
  return Promise.all(entries)
}

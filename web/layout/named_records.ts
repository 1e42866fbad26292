import type { Html } from '#web/html.ts'
import type { Visit } from '#web/request/visit.ts'
import { recordLink } from './record_page.ts'

const RECORDS = {
  campaign_id: ['Campaign', 'getCampaign', '/campaigns'],
  automation_id: ['Automation', 'getAutomation', '/automations'],
  audience_id: ['Audience', 'getAudience', '/audiences'],
  segment_id: ['Segment', 'getSegment', '/segments'],
  topic_id: ['Topic', 'getTopic', '/topics'],
  template_id: ['Template', 'getTemplate', '/templates'],
} as const

type References = { [Field in keyof typeof RECORDS]?: string | null }

/** Returns the records that a record refers to, with links. */
export function namedRecords(visit: Visit, found: References): Promise<[title: string, value: Html | null][]> {
  const entries = Object.entries(RECORDS).map(
    async ([field, [title, operation, path]]): Promise<[string, Html | null]> => {
      const id = found[field as keyof References]
      return [title, id ? await recordLink(visit, operation, path, id) : null]
    },
  )
  return Promise.all(entries)
}

import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type MeasuredContent, measureContent } from '#lib/contents/campaign/content_size.ts'
import { freezeContent } from '#lib/contents/campaign/freeze_content.ts'
import { renameBareKeys, subjectForNobody } from '#lib/contents/campaign/recipient_values.ts'
import type { Source } from '#lib/contents/compile_content.ts'
import { insertPoll } from '#lib/contents/insert_poll.ts'
import { idAt } from '#lib/ids.ts'
import type { PollForm } from '#lib/polls/new_poll.ts'
import { listPollKeys, pollOfContent } from '#lib/polls/poll_of_content.ts'
import { mentionsLink } from '#lib/templates/personal_links.ts'

/**
 * The content of a step that its recipients share. `id`: derived from the content. `poll`: the poll that it contains.
 */
export type StepContent = MeasuredContent & { id: string; source: Source; has_links: boolean; poll: PollForm | null }

/** `poll`: as given in the step. `subject`: the question of a poll that consists of links alone. */
type Written = Source & { poll: PollForm | null; subject: string }

export type Author = { purpose: 'marketing' | 'transactional'; postal_address: string | null }

/** Characters of contents that a process remembers. */
const CACHE_SIZE = 16 << 20

const contents = new LRUCache<string, StepContent>({
  maxSize: CACHE_SIZE,
  sizeCalculation: ({ source: { html, text } }) => 1 + (html?.length ?? 0) + (text?.length ?? 0),
})

/**
 * Returns a content as it is sent. Marketing mail gets a footer with an unsubscribe link unless it has such a link.
 *
 * @throws {ApiError} if there are too many placeholders, or links to options that the poll does not have
 */
export function freezeStepContent(written: Written, { purpose, postal_address }: Author): StepContent {
  const key = hashOf(JSON.stringify([written, purpose, postal_address]))
  const known = contents.get(key)
  if (known) return known
  const source = written.poll ? insertPoll(written, written.poll) : { html: written.html, text: written.text }
  const pollKeys = listPollKeys(source.html, source.text)
  const poll = pollOfContent(written.poll, pollKeys, () => subjectForNobody(written.subject))
  const isMarketing = purpose === 'marketing'
  const frozen = isMarketing ? freezeContent(source, { preview_text: null, postal_address }) : renameBareKeys(source)
  const has_links = isMarketing || [frozen.html, frozen.text].some(part => part !== null && mentionsLink(part))
  const id = idFrom(frozen)
  const content = { ...measureContent(frozen), id, source: frozen, has_links, poll: pollKeys.size > 0 ? poll : null }
  contents.set(key, content)
  return content
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64')
}

/** Returns the same UUIDv8 (RFC 9562 5.8) for the same value. */
export function idFrom(value: object): string {
  const bytes = createHash('sha256').update(JSON.stringify(value)).digest().subarray(0, 16)
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x80
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80
  return idAt(bytes, 0)
}

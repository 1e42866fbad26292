import type { PollForm } from '#lib/polls/new_poll.ts'
import { pollHtml, pollText } from '#lib/polls/poll_block.ts'
import { pollKeyOf } from '#lib/polls/poll_of_content.ts'
import { type Placeholder, placeholders } from '#lib/templates/placeholders.ts'
import { shownEnd } from './campaign/shown_end.ts'
import type { Source } from './compile_content.ts'

/** Inserts a poll into each part of a content. A content without parts gets html with the poll alone. */
export function insertPoll({ html, text }: Source, form: PollForm): Source {
  if (!html && !text) return { html: pollHtml(form), text }
  return { html: html && insertPollHtml(html, form), text: text && insertPollText(text, form) }
}

/**
 * Inserts a poll in place of `{{poll}}`. Without that placeholder, it is added at the end of the body, unless the html has links
 * to its options (`{{poll_url:…}}`).
 */
export function insertPollHtml(html: string, form: PollForm): string {
  const slots = slotsOf(html)
  const block = pollHtml(form)
  const replaced = replaceSlots(html, slots, block)
  if (replaced !== null) return replaced
  const end = shownEnd(html, slots)
  return html.slice(0, end) + block + html.slice(end)
}

/** As `insertPollHtml`, for plain text. */
export function insertPollText(text: string, form: PollForm): string {
  const block = pollText(form)
  return replaceSlots(text, slotsOf(text), block) ?? `${text.trimEnd()}\n\n${block}`
}

function slotsOf(source: string): Placeholder[] {
  return [...placeholders(source)].filter(slot => slot !== null)
}

/** Replaces `{{poll}}`. Returns null if the source has neither that placeholder nor links to the poll's options. */
function replaceSlots(source: string, slots: Placeholder[], block: string): string | null {
  const places = slots.filter(({ key }) => key === 'poll')
  if (places.length === 0) return slots.some(({ key }) => pollKeyOf(key) !== null) ? source : null
  const pieces: string[] = []
  let end = 0
  for (const { start, next } of places) {
    pieces.push(source.slice(end, start), block)
    end = next
  }
  return pieces.join('') + source.slice(end)
}

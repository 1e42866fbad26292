import { Threads } from '#lib/async/threads.ts'
import {
  type CompiledContent,
  compileContent,
  type FilledContent,
  type Filling,
  fillContent,
  type Links,
  type Source,
  type Values,
} from './compile_content.ts'
import { countSlots, untracked } from './content_parts.ts'
import type { ContentWork } from './content_thread.ts'
import { type SharedLinks, type TrackedBy, writeTracking } from './write_tracking.ts'

/** Sources of up to this many characters are handled on the main thread, and block it for about 2 ms. */
const MAX_LENGTH = 64 * 1024
const MAX_PLACEHOLDERS = 500

/** The longest parts that can be accepted take several seconds on a busy machine. */
const LIMITS = { count: 1, deadline_ms: 60_000, heap_mb: 512, idle_ms: 10_000 }

let threads: Threads<ContentWork, CompiledContent | FilledContent> | null = null

/** `compileContent`, in a thread if the source is long. */
export async function compile(source: Source, filling: Filling): Promise<CompiledContent> {
  const { html, text } = source
  if (!isLong(html) && !isLong(text)) return compileContent(source, filling)
  return (await inThread({ compile: source, filling })) as CompiledContent
}

/** Null: no tracking. */
export type TrackedLinks = { by: TrackedBy; shared: SharedLinks } | null

/**
 * Returns the parts of a recipient's message. They are filled in a thread if the content has many placeholders, or has long html
 * from which the text is derived.
 */
export async function renderContent(
  content: CompiledContent,
  values: Values,
  links: Links,
  tracked: TrackedLinks = null,
): Promise<Source> {
  const isSlow = hasManySlots(content) || (content.is_text_late && isLong(content.html))
  const { html, text } = isSlow
    ? ((await inThread({ fill: content, values, links })) as FilledContent)
    : fillContent(content, values, links)
  if (!html) return { html, text }
  return { html: tracked ? writeTracking(html, tracked.by, tracked.shared) : untracked(html), text }
}

function isLong(part: { length: number } | null): boolean {
  return part !== null && part.length > MAX_LENGTH
}

function hasManySlots({ html, text }: CompiledContent): boolean {
  return (html ? countSlots(html) : 0) + (text ? countSlots(text) : 0) > MAX_PLACEHOLDERS
}

function inThread(work: ContentWork): Promise<CompiledContent | FilledContent> {
  threads ??= new Threads(new URL('./content_thread.ts', import.meta.url), LIMITS)
  return threads.run(work, [])
}

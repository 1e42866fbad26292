import { Threads } from '#lib/async/threads.ts'
import {
  type CompiledContent,
  compileContent,
  type Filling,
  type Links,
  renderCompiled,
  type Source,
  type Values,
} from './compile_content.ts'
import type { ContentWork } from './content_thread.ts'

/** Characters up to which a source is handled on the main thread, which it holds up for some 2 ms. */
const MAX_LENGTH = 64 * 1024
const MAX_PLACEHOLDERS = 500

/** The longest parts that can be accepted take some seconds on a busy machine. */
const LIMITS = { count: 1, deadline_ms: 60_000, heap_mb: 512, idle_ms: 10_000 }

let threads: Threads<ContentWork, CompiledContent | Source> | null = null

/** `compileContent`, in a thread if the source is long. */
export async function compile(source: Source, filling: Filling): Promise<CompiledContent> {
  if (!isLong(source)) return compileContent(source, filling)
  return (await inThread({ compile: source, filling })) as CompiledContent
}

/** `renderCompiled`, in a thread if the content is long or has many placeholders. */
export async function renderContent(content: CompiledContent, values: Values, links: Links): Promise<Source> {
  const isBare = !values && !links
  if (isBare || !(isLong(content) || hasManyPlaceholders(content))) return renderCompiled(content, values, links)
  return (await inThread({ render: content, values, links })) as Source
}

function isLong({ html, text }: Source): boolean {
  return (html?.length ?? 0) + (text?.length ?? 0) > MAX_LENGTH
}

function hasManyPlaceholders({ html, text }: Source): boolean {
  let count = 0
  for (const part of [html, text]) {
    for (let at = part?.indexOf('{{') ?? -1; at >= 0 && count <= MAX_PLACEHOLDERS; count++) {
      at = (part as string).indexOf('{{', at + 2)
    }
  }
  return count > MAX_PLACEHOLDERS
}

function inThread(work: ContentWork): Promise<CompiledContent | Source> {
  threads ??= new Threads(new URL('./content_thread.ts', import.meta.url), LIMITS)
  return threads.run(work, [])
}

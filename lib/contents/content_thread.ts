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

export type ContentWork =
  | { compile: Source; filling: Filling }
  | { fill: CompiledContent; values: Values; links: Links }

/** Runs in a thread for `render_content.ts`. */
export default function handleContent(work: ContentWork): CompiledContent | FilledContent {
  if ('compile' in work) return compileContent(work.compile, work.filling)
  return fillContent(work.fill, work.values, work.links)
}

/** See `Threads`. */
export function ready(): void {}

import {
  type CompiledContent,
  compileContent,
  type Filling,
  type Links,
  renderCompiled,
  type Source,
  type Values,
} from './compile_content.ts'

export type ContentWork =
  | { compile: Source; filling: Filling }
  | { render: CompiledContent; values: Values; links: Links }

/** Runs in a thread for `render_content.ts`. */
export default function handleContent(work: ContentWork): CompiledContent | Source {
  if ('compile' in work) return compileContent(work.compile, work.filling)
  return renderCompiled(work.render, work.values, work.links)
}

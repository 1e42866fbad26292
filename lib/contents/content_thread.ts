import { type CompiledContent, compileContent, renderCompiled, type Source, type Values } from './compile_content.ts'

export type ContentWork = { compile: Source; is_template: boolean } | { render: CompiledContent; values: Values }

/** Runs in a thread for `render_content.ts`. */
export default function handleContent(work: ContentWork): CompiledContent | Source {
  return 'compile' in work ? compileContent(work.compile, work.is_template) : renderCompiled(work.render, work.values)
}

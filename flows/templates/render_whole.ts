import { compile, renderContent } from '#lib/contents/render_content.ts'

/** Parts with the values to render them. `variables`: undefined if they have no placeholders. */
type Renderable = {
  html: string | null
  text: string | null
  variables?: Record<string, string> | undefined
  has_links?: boolean | undefined
}

/** Renders both parts to show them; personal links stay placeholders. */
export async function renderWhole({ html, text, variables, has_links = false }: Renderable) {
  const filling = { has_values: variables !== undefined, is_personal: has_links }
  const content = await compile({ html, text }, filling)
  return renderContent(content, variables ?? null, has_links ? 'as_written' : null)
}

import type { Html } from '#web/html.ts'
import { html } from '#web/html.ts'
import type { Library } from './library.ts'
import type { Hit } from './search.ts'

/** The first page: what there is. */
export function indexHtml({ groups }: Library): Html {
  return html`<h1>Mailbrook docs</h1>
<p>Mailbrook sends and receives email for you, on your own server. The address of the API ends in <code>/api</code>.</p>
${groups.map(
  ({ name, pages }) => html`<h2>${name}</h2>
<ul>
${pages.map(({ slug, title, description }) => html`<li><a href="/docs/${slug}">${title}</a>. ${description}</li>\n`)}</ul>
`,
)}`
}

export function searchHtml(question: string, hits: Hit[]): Html {
  return html`<h1>Search</h1>
<p role="status">${hits.length === 0 ? `Nothing was found for “${question}”.` : `${hits.length} places for “${question}”.`}</p>
<ol class="hits">
${hits.map(
  ({
    slug,
    id,
    page,
    heading,
    excerpt,
  }) => html`<li><a href="/docs/${slug}${id ? `#${id}` : ''}">${heading}</a> <span>in ${page}</span>
<p>${excerpt.map(({ text, isWord }) => (isWord ? html`<mark>${text}</mark>` : text))}</p></li>
`,
)}</ol>`
}

export function missingHtml(): Html {
  return html`<h1>Page not found</h1>
<p>There is no such page. Search for what you need, or go to the <a href="/docs">first page</a>.</p>`
}

/** The index for programs that read (llmstxt.org). */
export function llmsText({ groups }: Library, base_url: string): string {
  const lists = groups.map(({ name, pages }) =>
    [
      `## ${name}`,
      '',
      ...pages.map(({ slug, title, description }) => `- [${title}](${base_url}/docs/${slug}.md): ${description}`),
    ].join('\n'),
  )
  const summary = '> A self-hosted email service: it sends, receives and manages email over an HTTP JSON API.'
  return `${['# Mailbrook', summary, `The API is at ${base_url}/api; [OpenAPI 3.1](${base_url}/api/openapi.json).`, ...lists].join('\n\n')}\n`
}

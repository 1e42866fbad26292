import type { Html } from '#web/html.ts'
import { html } from '#web/html.ts'
import type { Library } from './library.ts'
import type { Hit } from './search.ts'

/** The start page, which lists all pages. */
export function indexHtml({ groups }: Library): Html {
  return html`<h1>Mailbrook docs</h1>
<p>Mailbrook sends and receives email on your own server. The base URL of the API ends in <code>/api</code>.</p>
${groups.map(
  ({ name, pages }) => html`<h2>${name}</h2>
<ul>
${pages.map(({ slug, title, description }) => html`<li><a href="/docs/${slug}">${title}</a>. ${description}</li>\n`)}</ul>
`,
)}`
}

export function searchHtml(query: string, hits: Hit[]): Html {
  const found = hits.length === 0 ? 'No results' : hits.length === 1 ? '1 result' : `${hits.length} results`
  return html`<h1>Search</h1>
<p role="status">${found} for “${query}”.</p>
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

export function notFoundHtml(): Html {
  return html`<h1>Page not found</h1>
<p>This page does not exist. Search the docs, or go to the <a href="/docs">start page</a>.</p>`
}

/** The index of all pages for language models (llmstxt.org). */
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

import { assetUrl } from '#web/assets.ts'
import { documentHtml } from '#web/document.ts'
import { type Html, html, raw } from '#web/html.ts'
import type { Library, Page } from './library.ts'

type Parts = {
  title: string
  library: Library
  current: string | null
  query?: string
  body: Html
}

/** Renders a page, which is readable without its style and needs no script. */
export function layout({ title, library, current, query = '', body }: Parts): Html {
  return documentHtml({
    title: `${title} - Mailbrook docs`,
    style_url: assetUrl('docs.css'),
    body: html`<a class="skip" href="#content">Skip to content</a>
<header>
<a class="home" href="/docs">Mailbrook docs</a>
<a class="to-contents" href="#contents">Contents</a>
<form role="search" action="/docs/search">
<label for="q">Search</label>
<input id="q" name="q" type="search" value="${query}" maxlength="200" required>
<button>Search</button>
</form>
</header>
<main id="content" tabindex="-1">
${body}
</main>
<nav id="contents" aria-label="Contents" tabindex="-1">
${library.groups.map(group => groupHtml(group, current))}
</nav>
<footer>
<p><a href="/llms.txt">All pages as Markdown</a>. <a href="/api/openapi.json">OpenAPI document</a>.</p>
</footer>`,
  })
}

function groupHtml({ name, pages }: Library['groups'][number], current: string | null): Html {
  return html`<h2>${name}</h2>
<ul>
${pages.map(page => html`<li><a href="/docs/${page.slug}"${raw(page.slug === current ? ' aria-current="page"' : '')}>${page.title}</a></li>\n`)}</ul>
`
}

/** Renders the content of a page, with a table of contents if it is long. */
export function articleHtml({ slug, parts, html: text }: Page): Html {
  const headings = parts.filter(({ level }) => level === 2)
  const [, intro = '', rest = ''] = /^(.*?<\/h1>)(.*)$/s.exec(text) ?? []
  return html`<article>
${raw(intro)}
${
  headings.length > 2
    ? html`<details><summary>On this page</summary>
<ul>
${headings.map(({ id, heading }) => html`<li><a href="#${id}">${heading}</a></li>\n`)}</ul>
</details>`
    : ''
}
${raw(rest)}
<p class="source"><a href="/docs/${slug}.md">This page as Markdown</a></p>
</article>`
}

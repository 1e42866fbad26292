import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { anchorOf } from '#docs/generate/markdown.ts'
import { API_PATH, API_SLUG, type Entry, GROUPS } from './contents.ts'
import { createResolve, linkMarkdown, type Resolve } from './links.ts'
import { codeBlock, type Part, type Rendered, render } from './markdown.ts'
import { type ResourcePage, readReference, resourceMarkdown, type Snippet } from './reference.ts'

const ROOT = join(import.meta.dirname, '../..')

export type Page = {
  slug: string
  title: string
  /** The first sentence, as text. */
  description: string
  html: string
  markdown: string
  parts: Part[]
}

export type Library = { pages: Map<string, Page>; groups: { name: string; pages: Page[] }[] }

/** Renders all pages. Lets other requests run after each page. */
export async function loadLibrary(base_url: string): Promise<Library> {
  const reference = readReference(await readFile(join(ROOT, API_PATH), 'utf8'), base_url)
  const resolve = createResolve(reference.anchors)
  const pages: Page[] = []
  const add = async (page: Page): Promise<Page> => {
    pages.push(page)
    await setImmediate()
    return page
  }
  const groups: Library['groups'] = []
  for (const { name, entries } of GROUPS) {
    const own: Page[] = []
    for (const entry of entries) own.push(await add(await readGuide(entry, resolve)))
    groups.push({ name, pages: own })
  }
  const api = [await add(textPage(API_SLUG, API_PATH, reference.overview, resolve))]
  for (const page of reference.pages) api.push(await add(resourcePage(page, resolve)))
  groups.splice(3, 0, { name: 'API', pages: api })
  return { pages: new Map(pages.map(page => [page.slug, page])), groups }
}

async function readGuide({ slug, path }: Entry, resolve: Resolve): Promise<Page> {
  const text = await readFile(join(ROOT, path), 'utf8')
  return textPage(slug, path, text, resolve)
}

/** Renders a Markdown text that begins with its title. */
function textPage(slug: string, path: string, text: string, resolve: Resolve): Page {
  const rendered = render(text, { link: target => resolve(target, path) })
  const [title] = rendered.parts
  return {
    slug,
    title: title?.heading ?? slug,
    description: firstSentence(title?.text ?? ''),
    markdown: linkMarkdown(text, path, resolve),
    ...rendered,
  }
}

function firstSentence(text: string): string {
  return /^.*?[.:](?=\s|$)/.exec(text.replaceAll(/\s+/g, ' ').trim())?.[0].replace(/:$/, '.') ?? ''
}

function resourcePage(page: ResourcePage, resolve: Resolve): Page {
  const { slug, title, description, blocks } = page
  const link = (target: string) => resolve(target, API_PATH)
  const intro = render(description, { link })
  const rendered: Rendered[] = blocks.map(({ text, snippets }) => {
    const { html, parts } = render(text, { link, raiseBy: 1 })
    const code = snippets.map(({ code }) => code).join(' ')
    const searchable = parts.map((part, n) => (n === 0 ? { ...part, text: `${part.text} ${code}` } : part))
    return { html: `<section>\n${html}${snippetsHtml(snippets)}</section>\n`, parts: searchable }
  })
  return {
    ...{ slug, title, description },
    html: `<h1 id="${anchorOf(title)}">${title}</h1>\n${intro.html}${rendered.map(({ html }) => html).join('')}`,
    markdown: linkMarkdown(resourceMarkdown(page), API_PATH, resolve),
    parts: [
      { id: anchorOf(title), level: 1, heading: title, text: description },
      ...rendered.flatMap(({ parts }) => parts),
    ],
  }
}

function snippetsHtml(snippets: Snippet[]): string {
  if (snippets.length === 0) return ''
  const figures = snippets.map(
    ({ title, code }) => `<figure><figcaption>${title}</figcaption>${codeBlock(code)}</figure>`,
  )
  return `<div class="snippets">\n${figures.join('\n')}\n</div>\n`
}

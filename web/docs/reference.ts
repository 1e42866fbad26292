import { type Examples, examplesOf } from '#api/openapi/examples.ts'
import { anchorOf } from '#docs/generate/markdown.ts'
import calls from '#docs/generated/api_calls.json' with { type: 'json' }
import { API_SLUG } from './contents.ts'

/** The code of an example. `title`: such as `curl`. */
export type Snippet = { title: string; language: string; code: string }

/** A text with the code below it. */
type Block = { text: string; snippets: Snippet[] }

/** A page of a resource of the API. */
export type ResourcePage = { slug: string; title: string; description: string; blocks: Block[] }

export type Reference = {
  /** The introduction, with a list of the resources. */
  overview: string
  pages: ResourcePage[]
  /** Maps the anchors of docs/api.md to the slugs of their pages. */
  anchors: Map<string, string>
}

type Call = { id: string; curl: string; client: string; command: string }

/** Example calls, by the headings of operations. Operations that no API key may call have none. */
const CALLS: Record<string, Call | undefined> = calls

/** Sections of docs/api.md that are not resources. */
const COMMON = ['Lists', 'Errors']

/** Splits docs/api.md into a page per resource, and adds example calls to each operation. */
export function readReference(text: string, base_url: string): Reference {
  const [head = '', ...sections] = text.split(/^(?=## )/m)
  const isCommon = (section: string) => COMMON.includes(headingOf(section))
  const anchors = new Map<string, string>()
  const pages = sections
    .filter(section => !isCommon(section))
    .map(section => {
      const page = pageOf(section, base_url)
      for (const [, heading = ''] of section.matchAll(/^##+ (.+)$/gm)) anchors.set(anchorOf(heading), page.slug)
      return page
    })
  return { overview: [head, ...sections.filter(isCommon)].join(''), pages, anchors }
}

function headingOf(text: string): string {
  return /^#+ (.+)/.exec(text)?.[1] ?? ''
}

function pageOf(section: string, base_url: string): ResourcePage {
  const [head = '', ...operations] = section.split(/^(?=### )/m)
  const title = headingOf(head)
  return {
    slug: `${API_SLUG}/${anchorOf(title)}`,
    title,
    description: head.slice(head.indexOf('\n')).trim(),
    blocks: operations.flatMap(operation => blocksOf(operation.trim(), base_url)),
  }
}

/** Splits off the records that follow the last operation of a resource. */
function blocksOf(text: string, base_url: string): Block[] {
  const records = text.indexOf('\n#### ')
  const own = records === -1 ? text : text.slice(0, records).trim()
  const rest = records === -1 ? '' : text.slice(records).trim()
  const snippets = snippetsOf(CALLS[headingOf(text)], base_url)
  return [{ text: own, snippets }, ...(rest ? [{ text: rest, snippets: [] }] : [])]
}

function snippetsOf(call: Call | undefined, base_url: string): Snippet[] {
  if (!call) return []
  return [
    { title: 'curl', language: 'sh', code: call.curl.replace('http://localhost:3000', base_url) },
    { title: 'Client library', language: 'ts', code: call.client },
    { title: 'Command line', language: 'sh', code: call.command },
    ...responseSnippets(examplesOf(call.id).answers),
  ].map(snippet => ({ ...snippet, code: `${snippet.code}\n` }))
}

/** Returns the first example of a successful response. */
function responseSnippets(responses: Record<string, Examples> = {}): Snippet[] {
  const found = Object.entries(responses).find(([status]) => status.startsWith('2'))
  const [example] = Object.values(found?.[1] ?? {})
  if (!found || !example) return []
  return [{ title: `Response ${found[0]}`, language: 'json', code: JSON.stringify(example.value, null, 2) }]
}

/** Returns the page as Markdown. */
export function resourceMarkdown({ title, description, blocks }: ResourcePage): string {
  const texts = blocks.map(({ text, snippets }) => [text, ...snippets.map(snippetMarkdown)].join('\n\n'))
  return `${[`# ${title}`, description, ...texts].join('\n\n')}\n`
}

function snippetMarkdown({ title, language, code }: Snippet): string {
  return `${title}:\n\n\`\`\`${language}\n${code}\`\`\``
}

import { type Examples, examplesOf } from '#api/openapi/examples.ts'
import { apiReference, type Section } from '#docs/generate/api_page.ts'
import { type Method, readMethods } from '#docs/generate/client/read_methods.ts'
import { anchorOf } from '#docs/generate/markdown.ts'
import { clientText } from '#docs/generate/samples/client_text.ts'
import { commandText } from '#docs/generate/samples/command_text.ts'
import { curlText } from '#docs/generate/samples/curl_text.ts'
import { API_SLUG } from './contents.ts'

/** Code of an example, with what it is: `curl`. */
export type Snippet = { title: string; language: string; code: string }

/** A text, and the code that stands below it. */
type Block = { text: string; snippets: Snippet[] }

/** A page of a resource of the API. */
export type ResourcePage = { slug: string; title: string; description: string; blocks: Block[] }

export type Reference = {
  head: { introduction: string; rest: string }
  pages: ResourcePage[]
  /** By headings of docs/api.md: the page that has it. */
  anchors: Map<string, string>
}

/** Makes the pages of the API, a page per resource, from the OpenAPI document. */
export function readReference(base_url: string): Reference {
  const { head, sections } = apiReference()
  const methods = new Map(readMethods().map(method => [method.operation_id, method]))
  const anchors = new Map<string, string>()
  const pages = sections.map(section => {
    const page = pageOf(section, methods, base_url)
    anchors.set(anchorOf(section.name), page.slug)
    for (const [, heading = ''] of page.blocks
      .map(({ text }) => text)
      .join('\n\n')
      .matchAll(/^###+ (.+)$/gm))
      anchors.set(anchorOf(heading), page.slug)
    return page
  })
  return { head, pages, anchors }
}

function pageOf(section: Section, methods: Map<string, Method>, base_url: string): ResourcePage {
  const { name, description, operations, records } = section
  const blocks = operations.map(({ id, text }) => ({ text, snippets: snippetsOf(id, methods.get(id), base_url) }))
  return {
    slug: `${API_SLUG}/${anchorOf(name)}`,
    title: name,
    description,
    blocks: [...blocks, ...(records ? [{ text: records, snippets: [] }] : [])],
  }
}

/** None if no API key may call it. */
function snippetsOf(id: string, method: Method | undefined, base_url: string): Snippet[] {
  if (!method) return []
  return [
    { title: 'curl', language: 'sh', code: curlText(method, base_url) },
    { title: 'Client library', language: 'ts', code: clientText(method) },
    { title: 'Command line', language: 'sh', code: commandText(method) },
    ...answersOf(examplesOf(id).answers),
  ].map(snippet => ({ ...snippet, code: `${snippet.code}\n` }))
}

/** The first successful response that an example shows. */
function answersOf(answers: Record<string, Examples> = {}): Snippet[] {
  const found = Object.entries(answers).find(([status]) => status.startsWith('2'))
  const [example] = Object.values(found?.[1] ?? {})
  if (!found || !example) return []
  return [{ title: `Response ${found[0]}`, language: 'json', code: JSON.stringify(example.value, null, 2) }]
}

/** The whole page as Markdown. */
export function resourceMarkdown({ title, description, blocks }: ResourcePage): string {
  const texts = blocks.map(({ text, snippets }) => [text, ...snippets.map(snippetMarkdown)].join('\n\n'))
  return `${[`# ${title}`, description, ...texts].join('\n\n')}\n`
}

function snippetMarkdown({ title, language, code }: Snippet): string {
  return `${title}:\n\n\`\`\`${language}\n${code}\`\`\``
}

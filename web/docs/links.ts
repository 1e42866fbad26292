import { posix } from 'node:path'
import { API_PATH, API_SLUG, GROUPS } from './contents.ts'

/** Finds the address on this site of a link in a file of the repository. @throws if no page is there */
export type Resolve = (target: string, path: string) => string

/** Where the links of the files lead. `api_pages`: the slug of the page that has a heading of docs/api.md. */
export function createResolve(api_pages: Map<string, string>): Resolve {
  const slugs = new Map(GROUPS.flatMap(({ entries }) => entries).map(({ path, slug }) => [path, `/${slug}`]))
  slugs.set('README.md', '')
  slugs.set(API_PATH, `/${API_SLUG}`)
  return (target, path) => {
    if (/^[a-z]+:/.test(target)) return target
    const [file = '', anchor] = target.split('#')
    const linked = file === '' ? path : posix.join(posix.dirname(path), file)
    const slug = linked === API_PATH && anchor ? `/${api_pages.get(anchor) ?? API_SLUG}` : slugs.get(linked)
    if (slug === undefined) throw new Error(`${path}: no page of the docs is ${target}`)
    return `/docs${slug}${anchor ? `#${anchor}` : ''}`
  }
}

/** Markdown with links that lead to the Markdown of other pages. */
export function linkMarkdown(text: string, path: string, resolve: Resolve): string {
  return text.replaceAll(/\]\((?!https?:)([^)\s]+)\)/g, (_, target) => {
    const [address = '', anchor] = resolve(target, path).split('#')
    const file = address === '/docs' ? '/llms.txt' : `${address}.md`
    return `](${file}${anchor ? `#${anchor}` : ''})`
  })
}

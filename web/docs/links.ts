import { posix } from 'node:path'
import { API_PATH, API_SLUG, GROUPS } from './contents.ts'

/** Returns the address on this site for a link in a file of the repository. @throws if there is no such page */
export type Resolve = (target: string, path: string) => string

/** `api_pages` maps the anchors of docs/api.md to the slugs of their pages. */
export function createResolve(api_pages: Map<string, string>): Resolve {
  const slugs = new Map(GROUPS.flatMap(({ entries }) => entries).map(({ path, slug }) => [path, `/${slug}`]))
  slugs.set('README.md', '')
  slugs.set(API_PATH, `/${API_SLUG}`)
  return (target, path) => {
    if (/^[a-z]+:/.test(target)) return target
    const [file = '', anchor] = target.split('#')
    const linked = file === '' ? path : posix.join(posix.dirname(path), file)
    const slug = linked === API_PATH && anchor ? `/${api_pages.get(anchor) ?? API_SLUG}` : slugs.get(linked)
    if (slug === undefined) throw new Error(`${path}: the docs have no page ${target}`)
    return `/docs${slug}${anchor ? `#${anchor}` : ''}`
  }
}

/** Rewrites the links of a Markdown text to the Markdown of other pages. */
export function linkMarkdown(text: string, path: string, resolve: Resolve): string {
  return text.replaceAll(/\]\((?!https?:)([^)\s]+)\)/g, (_, target) => {
    const [address = '', anchor] = resolve(target, path).split('#')
    const file = address === '/docs' ? '/llms.txt' : `${address}.md`
    return `](${file}${anchor ? `#${anchor}` : ''})`
  })
}

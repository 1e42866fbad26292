/** A page: its path below `/docs`, and its file. */
export type Entry = { slug: string; path: string }
export type Group = { name: string; entries: Entry[] }

const page = (slug: string): Entry => ({ slug, path: `docs/${slug}.md` })

/** The table of contents. A test checks that it has every page of the folder docs/. */
export const GROUPS: Group[] = [
  { name: 'Start', entries: ['examples', 'coming_from_resend'].map(page) },
  {
    name: 'Guides',
    entries: [
      ...['sending', 'receiving', 'domains', 'contacts', 'campaigns', 'polls', 'events', 'automations', 'webhooks'].map(
        page,
      ),
      { slug: 'client', path: 'client/README.md' },
      page('agents'),
    ],
  },
  { name: 'Reference', entries: ['errors', 'configuration'].map(page) },
  { name: 'Operation', entries: ['dashboard', 'operating', 'direct'].map(page) },
  { name: 'Development', entries: ['architecture', 'style'].map(page) },
]

/** The API reference. On the site it is split into a page per resource. */
export const API_PATH = 'docs/api.md'
export const API_SLUG = 'api'

/** A page: its address below `/docs`, and the file that it is made of. */
export type Entry = { slug: string; path: string }
export type Group = { name: string; entries: Entry[] }

const page = (slug: string): Entry => ({ slug, path: `docs/${slug}.md` })

/** The first pages that a new reader looks for, and then each subject. A test compares this with the folder docs/. */
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

/** The API has a page for each resource, in place of this one. */
export const API_PATH = 'docs/api.md'
export const API_SLUG = 'api'

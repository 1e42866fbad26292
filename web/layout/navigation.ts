/** An entry of the main navigation. A page belongs to the entry that its path begins with. */
type Entry = {
  path: string
  name: string
  /** Shown only where nothing leaves the machine. */
  isOfCapture?: true
  /** How paths of more pages begin that belong to it. */
  others?: readonly string[]
}

export const NAVIGATION: readonly Entry[] = [
  { path: '/', name: 'Overview' },
  { path: '/emails', name: 'Emails' },
  { path: '/captured', name: 'Captured', isOfCapture: true },
  { path: '/received', name: 'Received' },
  { path: '/campaigns', name: 'Campaigns' },
  { path: '/automations', name: 'Automations' },
  { path: '/contacts', name: 'Contacts', others: ['/imports', '/audiences', '/contact-properties'] },
  { path: '/segments', name: 'Segments' },
  { path: '/topics', name: 'Topics' },
  { path: '/templates', name: 'Templates' },
  { path: '/events', name: 'Events' },
  { path: '/polls', name: 'Polls' },
  { path: '/domains', name: 'Domains' },
  { path: '/suppressions', name: 'Suppressions' },
  { path: '/webhooks', name: 'Webhooks' },
  { path: '/logs', name: 'Logs' },
  { path: '/api-keys', name: 'API keys' },
  { path: '/members', name: 'Members' },
  { path: '/audit-log', name: 'Audit log' },
  { path: '/settings', name: 'Settings' },
]

/** The path of the entry that a page belongs to. */
export function groupOf(path: string): string {
  const first = `/${path.split('/')[1] ?? ''}`
  return NAVIGATION.find(({ others }) => others?.includes(first))?.path ?? first
}

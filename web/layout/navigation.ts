/** An entry of the main navigation. It is marked as current on all pages whose path begins with its path. */
type Entry = {
  path: string
  name: string
  /** Shown only if emails are captured instead of sent. */
  isCaptureOnly?: true
  /** More paths with which its pages begin. */
  others?: readonly string[]
}

export const NAVIGATION: readonly Entry[] = [
  { path: '/', name: 'Overview' },
  { path: '/emails', name: 'Emails' },
  { path: '/captured', name: 'Captured', isCaptureOnly: true },
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

/** Returns the path of the entry that a page belongs to. */
export function groupOf(path: string): string {
  const first = `/${path.split('/')[1] ?? ''}`
  return NAVIGATION.find(({ others }) => others?.includes(first))?.path ?? first
}

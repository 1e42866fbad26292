import { html } from '#web/html.ts'
import { count, facts, section } from '#web/layout/parts.ts'
import { page, type Room } from '#web/request/visit.ts'

type Use = { used: number; limit: number | null }
type Usage = Record<'contacts' | 'segments' | 'broadcasts' | 'ai_credits' | 'automation_runs' | 'domains', Use> & {
  emails: { daily: Use; monthly: Use }
  credits: { remaining: number }
}

const settings = page('/settings', async visit => {
  const { emails, credits, ...usage } = await visit.ask<Usage>('getUsage')
  const shown = ({ used, limit }: Use) =>
    limit === null ? `${count(used)}, no limit` : `${count(used)} of ${count(limit)}`
  return {
    title: 'Settings',
    body: html`${facts([
      ['Account', visit.session.account_name],
      ['Base URL', html`<code>${visit.ctx.config.BASE_URL}/api</code>`],
    ])}
${section(
  'Usage',
  facts([
    ['Emails in 24 hours', shown(emails.daily)],
    ['Emails in 30 days', shown(emails.monthly)],
    ['Email credits left', count(credits.remaining)],
    ['Domains', shown(usage.domains)],
    ['Contacts', shown(usage.contacts)],
    ['Segments', shown(usage.segments)],
    ['Campaigns', shown(usage.broadcasts)],
    ['Automation runs in 30 days', shown(usage.automation_runs)],
    ['AI credits in 30 days', shown(usage.ai_credits)],
  ]),
)}`,
  }
})

export const settingsRoom: Room = { pages: [settings], actions: [] }

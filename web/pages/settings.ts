import { html } from '#web/html.ts'
import { count, facts, section } from '#web/layout/parts.ts'
import { page, type Room } from '#web/request/visit.ts'

type Use = { used: number; limit: number | null }
type Usage = Record<'contacts' | 'segments' | 'broadcasts' | 'ai_credits' | 'automation_runs' | 'domains', Use> & {
  emails: { daily: Use; monthly: Use }
  credits: { remaining: number }
}

const settings = page('/settings', async visit => {
  const { emails, credits, ...usage } = await visit.call<Usage>('getUsage')
  const usageText = ({ used, limit }: Use) =>
    limit === null ? `${count(used)}, no limit` : `${count(used)} of ${count(limit)}`
  return {
    title: 'Settings',
    body: html`${facts([
      ['Account', visit.session.account_name],
      ['API base URL', html`<code>${visit.ctx.config.BASE_URL}/api</code>`],
    ])}
${section(
  'Usage',
  facts([
    ['Emails per 24 hours', usageText(emails.daily)],
    ['Emails per 30 days', usageText(emails.monthly)],
    ['Email credits left', count(credits.remaining)],
    ['Domains', usageText(usage.domains)],
    ['Contacts', usageText(usage.contacts)],
    ['Segments', usageText(usage.segments)],
    ['Campaigns', usageText(usage.broadcasts)],
    ['Automation runs per 30 days', usageText(usage.automation_runs)],
    ['AI credits per 30 days', usageText(usage.ai_credits)],
  ]),
)}`,
  }
})

export const settingsRoom: Room = { pages: [settings], actions: [] }

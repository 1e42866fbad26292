import { checkServer } from '#flows/doctor/server.ts'
import { SENDABLE } from '#lib/domains/domain_status.ts'
import { listPausesOf } from '#sql/safety/pauses.ts'
import { findPlatform } from '#sql/safety/platform.ts'
import { listDoubtedEmails } from '#sql/sending/search/doubted_emails.ts'
import type { Webhook } from '#sql/webhooks/webhooks.ts'
import { type Html, html } from '#web/html.ts'
import type { List } from '#web/layout/list.ts'
import { badge, count, section, unicodeDomain } from '#web/layout/parts.ts'
import type { Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'
import { findDomains, type OwnDomain } from './domains/own_domains.ts'

/** Maximum number of items of one kind. */
const SHOWN = 5

/**
 * Lists what needs attention: paused sending, emails in doubt, domains without their DNS records, and disabled webhooks. Operators
 * also see problems of the server.
 */
export async function needsAttention(visit: Visit): Promise<Html> {
  const { data } = await visit.call<List<Wire<Webhook>>>('listWebhooks', { query: { limit: '100' } })
  const found = [
    ...(await pauses(visit)),
    ...(await inDoubt(visit)),
    ...firstOf(unverifiedDomains(await findDomains(visit)), html`<a href="/domains">Domains</a>`),
    ...firstOf(disabledWebhooks(data), html`<a href="/webhooks">Webhooks</a>`),
    ...firstOf(await problemsOfServer(visit), html`<a href="/operator">Operator</a>`),
  ]
  if (found.length === 0) return html``
  return section('Needs attention', html`<ul>${found.map(item => html`<li>${item}</li>`)}</ul>`)
}

/** Keeps the first items, and counts the others. `list`: a link to all of them. */
function firstOf(items: Html[], list: Html): Html[] {
  const rest = items.length - SHOWN
  return rest > 0 ? [...items.slice(0, SHOWN), html`${list}: ${count(rest)} more`] : items
}

async function pauses({ ctx, session }: Visit): Promise<Html[]> {
  const { paused_at, pause_reason } = await findPlatform(ctx.pool)
  const why = (reason: string | null) => (reason ? `: ${reason}` : '')
  const own = await listPausesOf(ctx.pool, session.account_id)
  return [
    ...(paused_at ? [html`Sending is paused on this server${why(pause_reason)} ${badge('paused')}`] : []),
    ...own.map(({ domain, paused_by, pause_reason: reason }) => {
      return html`Sending is paused ${domain ? `for ${unicodeDomain(domain)}` : 'for this account'} by ${paused_by}${why(reason)} ${badge('paused')}`
    }),
  ]
}

async function inDoubt({ ctx, session }: Visit): Promise<Html[]> {
  const { data } = await listDoubtedEmails(ctx.pool, session.account_id, { limit: 1 })
  if (data.length === 0) return []
  return [
    html`<a href="/emails?folder=in+doubt">Emails are in doubt</a>: they may have been delivered. Decide what to do with them.`,
  ]
}

function unverifiedDomains(domains: OwnDomain[]): Html[] {
  return domains
    .filter(({ status }) => status !== 'verified')
    .map(({ id, name, status }) => {
      const problem = SENDABLE.includes(status) ? 'is missing DNS records' : 'cannot send yet'
      return html`<a href="/domains/${id}">${unicodeDomain(name)}</a> ${problem} ${badge(status)}`
    })
}

function disabledWebhooks(webhooks: Wire<Webhook>[]): Html[] {
  return webhooks
    .filter(({ status }) => status === 'disabled')
    .map(({ id, endpoint }) => html`The webhook <a href="/webhooks/${id}">${endpoint}</a> is disabled.`)
}

async function problemsOfServer({ ctx, session }: Visit): Promise<Html[]> {
  if (!session.is_operator) return []
  const findings = await checkServer(ctx)
  const itemsOf = (level: 'problem' | 'warning', state: string) =>
    findings
      .filter(found => found.level === level)
      .map(({ check, finding }) => html`<a href="/operator">Server, ${check}</a>: ${finding} ${badge(state)}`)
  return [...itemsOf('problem', 'error'), ...itemsOf('warning', 'warning')]
}

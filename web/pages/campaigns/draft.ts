import type { RecipientsPreview } from '#flows/campaigns/preview_recipients.ts'
import { CAMPAIGN_TEST } from '#flows/campaigns/send_test.ts'
import { SENDABLE } from '#lib/domains/domain_status.ts'
import { ApiError } from '#lib/errors.ts'
import type { Campaign } from '#sql/campaigns/campaign_records.ts'
import type { ListedEmail } from '#sql/sending/email_records.ts'
import type { Template } from '#sql/templates/templates.ts'
import { type Html, html } from '#web/html.ts'
import { form } from '#web/layout/form.ts'
import type { List } from '#web/layout/list.ts'
import { badge, count, counted, emailBadge, facts, section, time, unicodeDomain } from '#web/layout/parts.ts'
import { idOf } from '#web/layout/record_page.ts'
import { findDomains } from '#web/pages/domains/own_domains.ts'
import { nullIfNotFound } from '#web/request/call_api.ts'
import type { Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'
import { editor } from './editor.ts'

type Draft = Wire<Campaign>
type Check = { isDone: boolean; name: string; details: Html | string }

/** The checklist of a draft, and forms to change and send it. */
export async function draftPage(visit: Visit, draft: Draft): Promise<Html> {
  const preview = await countRecipients(visit)
  const checks = [
    checkRecipients(preview),
    await checkContent(visit, draft),
    await checkDomain(visit, draft),
    await checkTest(visit, draft),
  ]
  const recipients = preview instanceof ApiError ? 0 : preview.recipients
  return html`${section('Checklist', html`<ul class="checks">${checks.map(checkHtml)}</ul>`)}
${preview instanceof ApiError ? '' : excluded(preview)}
${await editor(visit, draft)}
${visit.mayChange ? section('Send', sendForm(visit, draft, recipients)) : ''}`
}

function checkHtml({ isDone, name, details }: Check): Html {
  return html`<li>${badge(isDone ? 'pass' : 'missing')} <strong>${name}</strong>: ${details}</li>`
}

async function countRecipients(visit: Visit): Promise<Wire<RecipientsPreview> | ApiError> {
  return visit.call<Wire<RecipientsPreview>>('previewCampaignRecipients', { params: idOf(visit) }).catch(error => {
    if (error instanceof ApiError && error.statusCode === 422) return error // the campaign names no recipients
    throw error
  })
}

function checkRecipients(preview: Wire<RecipientsPreview> | ApiError): Check {
  const name = 'Recipients'
  if (preview instanceof ApiError) return { isDone: false, name, details: preview.message }
  const details = `${count(preview.recipients)} of ${counted(preview.contacts, 'contact')} would receive it now.`
  return { isDone: preview.recipients > 0, name, details }
}

function excluded({ left_out }: Wire<RecipientsPreview>): Html {
  const reasons = Object.entries(left_out).filter(([, number]) => number > 0)
  return facts(reasons.map(([reason, number]) => [`Excluded: ${reason.replaceAll('_', ' ')}`, count(number)] as const))
}

async function checkContent(visit: Visit, { html: own, text, template_id }: Draft): Promise<Check> {
  const name = 'Unsubscribe link'
  const template = template_id
    ? await nullIfNotFound(visit.call<Wire<Template>>('getTemplate', { params: { id: template_id } }))
    : null
  const source = `${own ?? template?.html ?? ''}${text ?? template?.text ?? ''}`
  if (source === '') return { isDone: false, name, details: 'The campaign has no content yet.' }
  if (template && template.status !== 'published') {
    return {
      isDone: false,
      name,
      details: html`<a href="/templates/${template.id}">The template</a> is not published.`,
    }
  }
  const hasLink = /unsubscribe_url/i.test(source)
  return {
    isDone: true,
    name,
    details: hasLink ? 'Included in the content.' : 'Not in the content: a footer with the link will be added.',
  }
}

async function checkDomain(visit: Visit, { domain_id }: Draft): Promise<Check> {
  const domain = (await findDomains(visit)).find(({ id }) => id === domain_id)
  if (!domain) return { isDone: false, name: 'Domain', details: 'The domain of the sender was deleted.' }
  const details = html`<a href="/domains/${domain.id}">${unicodeDomain(domain.name)}</a> ${badge(domain.status)}`
  return { isDone: SENDABLE.includes(domain.status), name: 'Domain', details }
}

async function checkTest(visit: Visit, { id }: Draft): Promise<Check> {
  const query = { tag: `${CAMPAIGN_TEST}:${id}`, limit: '1' }
  const [last] = (await visit.call<List<Wire<ListedEmail>>>('listEmails', { query })).data
  if (!last) return { isDone: false, name: 'Test', details: 'No test email sent yet.' }
  const details = html`<a href="/emails/${last.id}">Sent</a> to ${unicodeDomain(last.to[0] ?? '')} ${time(last.created_at)} ${emailBadge(last.status)}`
  return { isDone: true, name: 'Test', details }
}

function sendForm(visit: Visit, { id }: Draft, recipients: number): Html {
  return form(visit, {
    ...{ action: `/campaigns/${id}/send`, submit: 'Send campaign', isDangerous: true },
    fields: [
      {
        ...{ name: 'expected_recipients', label: 'Number of recipients', type: 'number', required: true },
        hint: `Enter ${recipients} to confirm.`,
      },
      {
        name: 'scheduled_at',
        label: 'Send at',
        hint: 'Leave empty to send now, or enter a time such as "tomorrow at 9am" (UTC).',
      },
    ],
  })
}

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
import { badge, count, facts, section, time } from '#web/layout/parts.ts'
import { idOf } from '#web/layout/record_page.ts'
import { findDomains } from '#web/pages/domains/own_domains.ts'
import { orNull } from '#web/request/ask.ts'
import type { Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

type Draft = Wire<Campaign>
type Check = { isDone: boolean; name: string; told: Html | string }

/** The checklist of a draft, and the forms that send it. */
export async function draftPage(visit: Visit, draft: Draft): Promise<Html> {
  const preview = await countRecipients(visit)
  const checks = [
    addressed(preview),
    await content(visit, draft),
    await sender(visit, draft),
    await tested(visit, draft),
  ]
  const recipients = preview instanceof ApiError ? 0 : preview.recipients
  return html`${section('Before it is sent', html`<ul class="checks">${checks.map(checkHtml)}</ul>`)}
${preview instanceof ApiError ? '' : leftOut(preview)}
${visit.mayChange ? section('Send', sendForms(visit, draft, recipients)) : ''}`
}

function checkHtml({ isDone, name, told }: Check): Html {
  return html`<li>${badge(isDone ? 'pass' : 'missing')} <strong>${name}</strong>: ${told}</li>`
}

async function countRecipients(visit: Visit): Promise<Wire<RecipientsPreview> | ApiError> {
  return visit.ask<Wire<RecipientsPreview>>('previewCampaignRecipients', { params: idOf(visit) }).catch(error => {
    if (error instanceof ApiError && error.statusCode === 422) return error // nobody is named
    throw error
  })
}

function addressed(preview: Wire<RecipientsPreview> | ApiError): Check {
  const name = 'Recipients'
  if (preview instanceof ApiError) return { isDone: false, name, told: preview.message }
  const told = `${count(preview.recipients)} of ${count(preview.contacts)} contacts would get it now.`
  return { isDone: preview.recipients > 0, name, told }
}

function leftOut({ left_out }: Wire<RecipientsPreview>): Html {
  const reasons = Object.entries(left_out).filter(([, number]) => number > 0)
  return facts(reasons.map(([reason, number]) => [`Left out: ${reason.replaceAll('_', ' ')}`, count(number)] as const))
}

async function content(visit: Visit, { html: own, text, template_id }: Draft): Promise<Check> {
  const name = 'Unsubscribe link'
  const template = template_id
    ? await orNull(visit.ask<Wire<Template>>('getTemplate', { params: { id: template_id } }))
    : null
  const source = `${own ?? template?.html ?? ''}${text ?? template?.text ?? ''}`
  if (source === '') return { isDone: false, name, told: 'The campaign has no content yet.' }
  if (template && template.status !== 'published') {
    return { isDone: false, name, told: html`<a href="/templates/${template.id}">Its template</a> is not published.` }
  }
  const has = /unsubscribe_url/i.test(source)
  return {
    isDone: true,
    name,
    told: has ? 'In the content.' : 'A footer with the link is added, since the content has none.',
  }
}

async function sender(visit: Visit, { domain_id }: Draft): Promise<Check> {
  const domain = (await findDomains(visit)).find(({ id }) => id === domain_id)
  if (!domain) return { isDone: false, name: 'Domain', told: 'The domain of the sender was deleted.' }
  const told = html`<a href="/domains/${domain.id}">${domain.name}</a> ${badge(domain.status)}`
  return { isDone: SENDABLE.includes(domain.status), name: 'Domain', told }
}

async function tested(visit: Visit, { id }: Draft): Promise<Check> {
  const query = { tag: `${CAMPAIGN_TEST}:${id}`, limit: '1' }
  const [last] = (await visit.ask<List<Wire<ListedEmail>>>('listEmails', { query })).data
  if (!last) return { isDone: false, name: 'Test', told: 'No test was sent yet.' }
  const told = html`<a href="/emails/${last.id}">Sent</a> to ${last.to[0] ?? ''} ${time(last.created_at)} ${badge(last.status)}`
  return { isDone: true, name: 'Test', told }
}

function sendForms(visit: Visit, { id }: Draft, recipients: number): Html {
  const path = `/campaigns/${id}`
  return html`${form(visit, {
    ...{ action: `${path}/test`, submit: 'Send a test' },
    fields: [{ name: 'to', label: 'Test addresses', hint: 'Up to 10, with commas.', required: true }],
  })}
${form(visit, {
  ...{ action: `${path}/send`, submit: 'Send to everybody', isDangerous: true },
  fields: [
    {
      ...{ name: 'expected_recipients', label: 'Number of recipients', type: 'number', required: true },
      hint: `Type ${recipients} to confirm.`,
    },
    { name: 'scheduled_at', label: 'When', hint: 'Empty: now. Or a time such as "tomorrow at 9am", in UTC.' },
  ],
})}`
}

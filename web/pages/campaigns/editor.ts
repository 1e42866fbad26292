import { previewCampaign } from '#flows/campaigns/content/preview_campaign.ts'
import { notFound } from '#lib/errors.ts'
import { isUuid } from '#lib/ids.ts'
import { parseAddress, storedAddress } from '#lib/mail/address.ts'
import type { Campaign } from '#sql/campaigns/campaign_records.ts'
import { type Html, html } from '#web/html.ts'
import { type Field, fieldHtml, withValue } from '#web/layout/field.ts'
import { form } from '#web/layout/form.ts'
import { part, section } from '#web/layout/parts.ts'
import { idOf } from '#web/layout/record_page.ts'
import { shownState } from '#web/layout/stale_form.ts'
import { choicesOf } from '#web/pages/domains/own_domains.ts'
import { contentFields, readHtml, readText } from '#web/pages/mail/content_fields.ts'
import { previewButton, previewFrame, respondContent } from '#web/pages/mail/content_preview.ts'
import type { Form } from '#web/request/form.ts'
import type { Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'
import { abFields, readAbTest } from './ab_fields.ts'
import { optionFields, readOptions } from './option_fields.ts'

type Found = Wire<Campaign>

/** The fields of a campaign; without values for a new one. */
export async function fieldsOf(visit: Visit, found?: Found): Promise<Field[]> {
  const choice = async (name: keyof Found & string, label: string, operation: string): Promise<Field> => {
    const value = (found?.[name] ?? null) as string | null
    const options = await choicesOf(visit, operation)
    return { name, label, type: 'select', value, options: [['', 'None'], ...withValue(options, value)] }
  }
  return [
    { name: 'name', label: 'Name', value: found?.name },
    { name: 'from', label: 'From', required: true, value: found?.from },
    {
      name: 'reply_to',
      label: 'Reply to',
      value: found?.reply_to.join(', '),
      hint: 'Addresses that replies go to, separated by commas. Leave empty for the sender.',
    },
    {
      name: 'subject',
      label: 'Subject',
      value: found?.subject,
      hint: 'May contain variables, such as {{first_name|friend}}. Leave empty for the subject of the template.',
    },
    {
      name: 'preview_text',
      label: 'Preview text',
      value: found?.preview_text,
      hint: 'Shown next to the subject in the inbox.',
    },
    await choice('segment_id', 'Segment', 'listSegments'),
    await choice('audience_id', 'Audience', 'listAudiences'),
    await choice('topic_id', 'Topic', 'listTopics'),
    await choice('template_id', 'Template', 'listTemplates'),
    ...contentFields(found, { html: { hint: 'Leave empty if you choose a template.' } }),
  ]
}

/** Reads the fields of a new campaign. */
export function readCampaign(form: Form) {
  return {
    ...{ name: form.textOrNull('name'), from: form.optional('from'), reply_to: form.addresses('reply_to') },
    ...{ segment_id: form.textOrNull('segment_id'), audience_id: form.textOrNull('audience_id') },
    topic_id: form.textOrNull('topic_id'),
    ...readContent(form),
  }
}

function readContent(form: Form) {
  return {
    ...{ subject: form.textOrNull('subject'), preview_text: form.textOrNull('preview_text') },
    ...{ html: readHtml(form), text: readText(form) },
    template_id: form.textOrNull('template_id'),
  }
}

/** Reads the fields of a draft. */
export function readDraft(form: Form, { poll }: Found) {
  return { ...readCampaign(form), ab_test: readAbTest(form), ...readOptions(form, poll) }
}

/** The fields of a draft beside a preview of the email. View-only members see the preview alone. */
export async function editor(visit: Visit, found: Found): Promise<Html> {
  const path = `/campaigns/${found.id}`
  const frame = previewFrame(path)
  if (!visit.mayChange) return section('Preview', frame)
  const { problem } = visit
  const options = optionFields(found).map(one => fieldHtml(one, '', problem))
  return section(
    'Content',
    html`<div class="editor">
${form(visit, {
  ...{ action: path, submit: 'Save', fields: await fieldsOf(visit, found) },
  extra: html`${shownState(visit, found)}${abFields(found.ab_test, path, problem)}
${part('Time, tracking and poll', false, html`${options}`)}
${testFields(visit).map(one => fieldHtml(one, '', problem))}${buttons(path)}`,
})}
<div>${frame}</div></div>`,
  )
}

function testFields({ session }: Visit): Field[] {
  return [
    {
      ...{ name: 'preview_for', label: 'Preview for', value: session.email },
      hint: 'Address of a contact, whose values are inserted.',
    },
    { name: 'to', label: 'Test addresses', hint: 'Up to 10 addresses, separated by commas.' },
  ]
}

function buttons(path: string): Html {
  return html`<p>${previewButton(path, 'Preview', 'part', 'html', true)}
${previewButton(path, 'Preview plain text', 'part', 'text')}
<button formaction="${path}/test">Save and send a test</button></p>`
}

/** Responds with the email of one recipient for the frame: from the form or, without one, as it is stored or was sent. */
export async function respondPreview(visit: Visit, form: Form | null): Promise<void> {
  const { account_id, email } = visit.session
  const { id } = idOf(visit)
  const recipient = parseAddress(form?.text('preview_for') ?? '') ?? storedAddress(email)
  const content = form ? { ...readContent(form), ab_test: readAbTest(form) } : {}
  const [part, variant] = form ? [form.text('part'), form.optional('variant')] : [visit.query.part, visit.query.variant]
  await respondContent(visit, part === 'text', async () => {
    if (!isUuid(id)) throw notFound('Campaign')
    return previewCampaign(visit.ctx.pool, { account_id, id }, content, recipient, variant)
  })
}

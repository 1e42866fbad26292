import { type PreviewedContent, previewCampaign } from '#flows/campaigns/content/preview_campaign.ts'
import { notFound } from '#lib/errors.ts'
import { isUuid } from '#lib/ids.ts'
import { parseAddress, storedAddress } from '#lib/mail/address.ts'
import type { Campaign } from '#sql/campaigns/campaign_records.ts'
import { type Html, html } from '#web/html.ts'
import { type Field, withValue } from '#web/layout/field.ts'
import { form } from '#web/layout/form.ts'
import { section } from '#web/layout/parts.ts'
import { idOf } from '#web/layout/record_page.ts'
import { contentFields, readText } from '#web/pages/mail/content_fields.ts'
import { previewFrame, respondContent } from '#web/pages/mail/content_preview.ts'
import { listAll } from '#web/request/call_api.ts'
import type { Form } from '#web/request/form.ts'
import type { Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

type Found = Wire<Campaign>
type Named = { id: string; name: string }

/** The fields of a campaign; without values for a new one. */
export async function fieldsOf(visit: Visit, found?: Found): Promise<Field[]> {
  const choice = async (name: keyof Found & string, label: string, operation: string): Promise<Field> => {
    const value = (found?.[name] ?? null) as string | null
    const options = (await listAll<Named>(visit.call, operation)).map(({ id, name }) => [id, name] as const)
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
    ...contentFields(found, { hint: 'Leave empty if you choose a template.' }),
  ]
}

/** Reads the fields of a campaign. */
export function readCampaign(form: Form) {
  return {
    ...{ name: form.textOrNull('name'), from: form.optional('from'), reply_to: form.addresses('reply_to') },
    ...{ segment_id: form.textOrNull('segment_id'), audience_id: form.textOrNull('audience_id') },
    topic_id: form.textOrNull('topic_id'),
    ...readContent(form),
  }
}

function readContent(form: Form): Required<PreviewedContent> {
  return {
    ...{ subject: form.textOrNull('subject'), preview_text: form.textOrNull('preview_text') },
    ...{ html: form.text('html') ? form.raw('html') : null, text: readText(form) },
    template_id: form.textOrNull('template_id'),
  }
}

/** The fields of a draft beside a preview of the email. View-only members see the preview alone. */
export async function editor(visit: Visit, found: Found): Promise<Html> {
  const path = `/campaigns/${found.id}`
  const frame = previewFrame(path)
  if (!visit.mayChange) return section('Preview', frame)
  const recipient: Field = {
    ...{ name: 'preview_for', label: 'Preview for', value: visit.session.email },
    hint: 'Address of a contact, whose values are inserted.',
  }
  const fields = [...(await fieldsOf(visit, found)), recipient]
  const preview = { action: `${path}/preview`, variants: found.ab_test?.variants.map(({ key }) => key) ?? [] }
  return section(
    'Content',
    html`<div class="editor">
${form(visit, { action: path, submit: 'Save', fields, extra: previewButtons(preview) })}
<div>${frame}</div></div>`,
  )
}

/** The first button is also pressed by the script of the page, while somebody types. */
function previewButtons({ action, variants }: { action: string; variants: string[] }): Html {
  const button = (name: string, value: string, label: string, isFirst = false) =>
    html`<button formaction="${action}" formtarget="preview" formnovalidate name="${name}" value="${value}"${isFirst ? html` data-preview` : ''}>${label}</button>`
  return html`<p>${button('part', 'html', 'Preview', true)}
${button('part', 'text', 'Preview plain text')}
${variants.slice(1).map(key => button('variant', key, `Preview variant ${key}`))}</p>`
}

/** Responds with the email of one recipient for the frame: from the form or, without one, as it is stored. */
export async function respondPreview(visit: Visit, form: Form | null): Promise<void> {
  const { account_id, email } = visit.session
  const { id } = idOf(visit)
  const recipient = parseAddress(form?.text('preview_for') ?? '') ?? storedAddress(email)
  const content = form ? readContent(form) : {}
  await respondContent(visit, form?.text('part') === 'text', async () => {
    if (!isUuid(id)) throw notFound('Campaign')
    return previewCampaign(visit.ctx.pool, { account_id, id }, content, recipient, form?.optional('variant'))
  })
}

import { UNITS } from '#lib/campaigns/recurrence.ts'
import type { Campaign } from '#sql/campaigns/campaign_records.ts'
import { type Html, html } from '#web/html.ts'
import { confirmButton, form } from '#web/layout/form.ts'
import { curl } from '#web/layout/list.ts'
import { listPage } from '#web/layout/list_page.ts'
import { namedRecords } from '#web/layout/named_records.ts'
import { badge, count, facts, section, time } from '#web/layout/parts.ts'
import { idOf, recordPage } from '#web/layout/record_page.ts'
import { acceptState, refuseStale } from '#web/layout/stale_form.ts'
import { exampleDomain } from '#web/pages/domains/own_domains.ts'
import type { Form } from '#web/request/form.ts'
import { action, file, type Room, type Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'
import { buttonsOf } from './buttons.ts'
import { contentOf } from './content.ts'
import { draftPage } from './draft.ts'
import { fieldsOf, readCampaign, readDraft, respondPreview } from './editor.ts'
import { campaignRecipients } from './recipients.ts'
import { report } from './report.ts'
import { settleDoubts } from './unsent.ts'

type Row = Wire<Campaign>

const campaigns = listPage<Row>({
  ...{ path: '/campaigns', title: 'Campaigns', operation: 'listCampaigns' },
  columns: [
    { title: 'Name', cell: ({ name, subject }) => name || subject || '(no name)' },
    { title: 'Status', cell: ({ status }) => badge(status) },
    {
      title: 'Recipients',
      cell: ({ started_at, recipients_count }) => (started_at ? count(recipients_count ?? 0) : 'not counted yet'),
    },
    { title: 'Sent', cell: sentHtml },
  ],
  empty: async visit => {
    const { id, name } = await exampleDomain(visit)
    const content = { from: `Acme <news@${name}>`, subject: 'March', html: '<p>Hello</p>' }
    return ['No campaigns yet. Create one:', curl(visit, 'POST', '/campaigns', { ...content, audience_id: id })]
  },
  below: async visit =>
    section(
      'New campaign',
      form(visit, { action: '/campaigns', submit: 'Create draft', fields: await fieldsOf(visit) }),
    ),
})

/** When a campaign was sent, or will be. */
function sentHtml({ status, sent_at, scheduled_at }: Row): Html {
  const isDue = status === 'scheduled' && !sent_at
  return isDue ? html`scheduled for ${time(scheduled_at)}` : time(sent_at, 'not yet')
}

const campaign = recordPage<Row>('/campaigns/:id', 'getCampaign', async (found, visit) => {
  const path = `/campaigns/${found.id}`
  const isDraft = found.status === 'draft'
  return {
    title: found.name || found.subject || '(no name)',
    isLive: found.status === 'queued',
    actions: html`${badge(found.status)} ${buttonsOf(visit, path, found.status)}`,
    body: html`${facts([
      ['From', found.from],
      ['Subject', found.subject],
      ...(await namedRecords(visit, found)),
      ['A/B test', found.ab_test && `${found.ab_test.variants.length} variants`],
      ['Recurrence', recurrenceOf(found)],
      ['Scheduled', found.scheduled_at ? time(found.scheduled_at) : null],
      ['Reason for waiting', found.pause_reason],
      ['Error', found.error],
    ])}
${isDraft ? await draftPage(visit, found) : html`${await report(visit, found)}${contentOf(visit, found)}`}
${isDraft || found.status === 'scheduled' ? deleteButton(visit, path) : ''}`,
  }
})

function recurrenceOf({ recurrence, recurrence_every: every }: Row): string | null {
  if (!recurrence) return null
  const { unit } = UNITS[recurrence]
  return every && every > 1 ? `every ${every} ${unit}` : `every ${unit.slice(0, -1)}`
}

const deleteButton = (visit: Visit, path: string) =>
  confirmButton(visit, `${path}/delete`, 'Delete', 'Emails that are not sent yet will not be sent.')

async function saveDraft(visit: Visit, form: Form): Promise<void> {
  const params = idOf(visit)
  const found = await visit.call<Row>('getCampaign', { params })
  refuseStale(form, found)
  await visit.call('updateCampaign', { params, body: readDraft(form, found) })
  acceptState(form, await visit.call<Row>('getCampaign', { params }))
}

const NOTICES: Record<string, string> = {
  ...{ cancel: 'Campaign canceled.', pause: 'Campaign paused.', resume: 'Campaign resumed.' },
  retry: 'Sending again to the recipients whose email failed.',
}

export const campaignRoom: Room = {
  pages: [campaigns, campaign, campaignRecipients],
  files: [file('/campaigns/:id/preview', visit => respondPreview(visit, null))],
  actions: [
    action('/campaigns', campaigns, async (visit, form) => {
      const { id } = await visit.call<Row>('createCampaign', { body: readCampaign(form) })
      return { to: `/campaigns/${id}`, notice: 'Draft created.' }
    }),
    action('/campaigns/:id', campaign, async (visit, form) => {
      await saveDraft(visit, form)
      return { to: `/campaigns/${idOf(visit).id}`, notice: 'Draft saved.' }
    }),
    action('/campaigns/:id/preview', campaign, async (visit, form) => {
      await respondPreview(visit, form)
      return null
    }),
    action('/campaigns/:id/test', campaign, async (visit, form) => {
      await saveDraft(visit, form)
      await visit.call('testCampaign', { params: idOf(visit), body: { to: form.addresses('to') } })
      return { to: `/campaigns/${idOf(visit).id}`, notice: 'Test email queued.' }
    }),
    action('/campaigns/:id/send', campaign, async (visit, form) => {
      const body = {
        expected_recipients: Number(form.text('expected_recipients')),
        scheduled_at: form.optional('scheduled_at'),
      }
      await visit.call('sendCampaign', { params: idOf(visit), body })
      return { to: `/campaigns/${idOf(visit).id}`, notice: 'The campaign is being sent or is scheduled.' }
    }),
    action('/campaigns/:id/winner', campaign, async (visit, form) => {
      await visit.call('chooseCampaignWinner', { params: idOf(visit), body: { variant: form.text('variant') } })
      return { to: `/campaigns/${idOf(visit).id}`, notice: 'Winner chosen.' }
    }),
    action('/campaigns/:id/in-doubt', campaign, settleDoubts),
    action('/campaigns/:id/duplicate', campaign, async visit => {
      const { id } = await visit.call<Row>('duplicateCampaign', { params: idOf(visit) })
      return { to: `/campaigns/${id}`, notice: 'Campaign duplicated. This is the copy.' }
    }),
    action('/campaigns/:id/delete', campaign, async visit => {
      await visit.call('deleteCampaign', { params: idOf(visit) })
      return { to: '/campaigns', notice: 'Campaign deleted.' }
    }),
    ...Object.entries(NOTICES).map(([name, notice]) =>
      action(`/campaigns/:id/${name}`, campaign, async visit => {
        await visit.call(`${name}Campaign`, { params: idOf(visit) })
        return { to: `/campaigns/${idOf(visit).id}`, notice }
      }),
    ),
  ],
}

import type { Campaign } from '#sql/campaigns/campaign_records.ts'
import { html } from '#web/html.ts'
import { button, confirmButton, form } from '#web/layout/form.ts'
import { curl, type List } from '#web/layout/list.ts'
import { listPage } from '#web/layout/list_page.ts'
import { badge, count, facts, section, time } from '#web/layout/parts.ts'
import { idOf, recordPage } from '#web/layout/record_page.ts'
import { exampleDomain } from '#web/pages/domains/own_domains.ts'
import { action, type Room, type Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'
import { draftPage } from './campaign_draft.ts'
import { campaignRecipients } from './campaign_recipients.ts'
import { report } from './campaign_report.ts'

type Sent = Wire<Campaign>
type Named = { id: string; name: string }

const campaigns = listPage<Sent>({
  ...{ path: '/campaigns', title: 'Campaigns', operation: 'listCampaigns' },
  columns: [
    { title: 'Name', cell: ({ name, subject }) => name || subject || '(no name)' },
    { title: 'Status', cell: ({ status }) => badge(status) },
    { title: 'Recipients', cell: ({ recipients_count }) => count(recipients_count ?? 0) },
    { title: 'Sent', cell: ({ sent_at, scheduled_at }) => time(sent_at ?? scheduled_at, 'not yet') },
  ],
  empty: async visit => {
    const { id, name } = await exampleDomain(visit)
    const content = { from: `Acme <news@${name}>`, subject: 'March', html: '<p>Hello</p>' }
    return ['There are no campaigns yet.', curl(visit, 'POST', '/campaigns', { ...content, audience_id: id })]
  },
  below: async visit =>
    section(
      'New campaign',
      form(visit, { action: '/campaigns', submit: 'Create draft', fields: await fieldsOf(visit) }),
    ),
})

const campaign = recordPage<Sent>('/campaigns/:id', 'getCampaign', async (found, visit) => {
  const path = `/campaigns/${found.id}`
  const isDraft = found.status === 'draft'
  return {
    title: found.name || found.subject || '(no name)',
    isLive: found.status === 'queued',
    actions: html`${badge(found.status)} ${buttonsOf(visit, path, found.status)}`,
    body: html`${facts([
      ['From', found.from],
      ['Subject', found.subject],
      ['Scheduled', found.scheduled_at ? time(found.scheduled_at) : null],
      ['Waits because', found.pause_reason],
      ['Failed because', found.error],
    ])}
${isDraft ? await draftPage(visit, found) : await report(visit, found)}
${confirmButton(visit, `${path}/delete`, 'Delete', 'Nothing more of it is sent.')}`,
  }
})

/** The buttons that a campaign in a state has. */
function buttonsOf(visit: Visit, path: string, status: string) {
  const acts: Record<string, string[]> = {
    scheduled: ['cancel'],
    queued: ['pause', 'cancel'],
    testing: ['pause', 'cancel'],
    paused: ['resume', 'cancel'],
    sent: ['retry'],
  }
  return [...(acts[status] ?? []), 'duplicate'].map(act =>
    button(visit, `${path}/${act}`, `${act[0]?.toUpperCase()}${act.slice(1)}`),
  )
}

async function fieldsOf(visit: Visit) {
  const options = async (operation: string) =>
    (await visit.ask<List<Named>>(operation)).data.map(({ id, name }) => [id, name] as const)
  const choice = (name: string, label: string, rows: (readonly [string, string])[]) =>
    ({ name, label, type: 'select', options: [['', 'None'], ...rows] }) as const
  return [
    { name: 'name', label: 'Name' },
    { name: 'from', label: 'From', required: true },
    { name: 'subject', label: 'Subject', required: true },
    { name: 'preview_text', label: 'Preview text', hint: 'Shown by mail clients beside the subject.' },
    choice('segment_id', 'Segment', await options('listSegments')),
    choice('audience_id', 'Audience', await options('listAudiences')),
    choice('topic_id', 'Topic', await options('listTopics')),
    choice('template_id', 'Template', await options('listTemplates')),
    { name: 'html', label: 'HTML', type: 'textarea', rows: 12, hint: 'Unless a template is chosen.' },
  ] as const
}

const FIELDS = [
  'name',
  'from',
  'subject',
  'preview_text',
  'segment_id',
  'audience_id',
  'topic_id',
  'template_id',
  'html',
]
const DONE: Record<string, string> = {
  ...{ cancel: 'The campaign is canceled.', pause: 'The campaign is paused.', resume: 'The campaign goes on.' },
  retry: 'The campaign is sent again to those whose email failed.',
}

export const campaignRoom: Room = {
  pages: [campaigns, campaign, campaignRecipients],
  actions: [
    action('/campaigns', campaigns, async (visit, form) => {
      const body = Object.fromEntries(FIELDS.map(name => [name, form.given(name)]))
      const { id } = await visit.ask<Sent>('createCampaign', { body })
      return { to: `/campaigns/${id}`, notice: 'The campaign is a draft.' }
    }),
    action('/campaigns/:id/test', campaign, async (visit, form) => {
      await visit.ask('testCampaign', { params: idOf(visit), body: { to: form.list('to') } })
      return { to: `/campaigns/${idOf(visit).id}`, notice: 'The test is on its way.' }
    }),
    action('/campaigns/:id/send', campaign, async (visit, form) => {
      const body = {
        expected_recipients: Number(form.text('expected_recipients')),
        scheduled_at: form.given('scheduled_at'),
      }
      await visit.ask('sendCampaign', { params: idOf(visit), body })
      return { to: `/campaigns/${idOf(visit).id}`, notice: 'The campaign is being sent, or is scheduled.' }
    }),
    action('/campaigns/:id/winner', campaign, async (visit, form) => {
      await visit.ask('chooseCampaignWinner', { params: idOf(visit), body: { variant: form.text('variant') } })
      return { to: `/campaigns/${idOf(visit).id}`, notice: 'The winner is chosen.' }
    }),
    action('/campaigns/:id/duplicate', campaign, async visit => {
      const { id } = await visit.ask<Sent>('duplicateCampaign', { params: idOf(visit) })
      return { to: `/campaigns/${id}`, notice: 'This is the copy.' }
    }),
    action('/campaigns/:id/delete', campaign, async visit => {
      await visit.ask('deleteCampaign', { params: idOf(visit) })
      return { to: '/campaigns', notice: 'The campaign is deleted.' }
    }),
    ...Object.entries(DONE).map(([act, notice]) =>
      action(`/campaigns/:id/${act}`, campaign, async visit => {
        await visit.ask(`${act}Campaign`, { params: idOf(visit) })
        return { to: `/campaigns/${idOf(visit).id}`, notice }
      }),
    ),
  ],
}

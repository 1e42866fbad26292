import { html } from '#web/html.ts'
import { button, form } from '#web/layout/form.ts'
import { count, facts, section } from '#web/layout/parts.ts'
import { idOf } from '#web/layout/record_page.ts'
import type { Visit } from '#web/request/visit.ts'

type Preview = { recipients: number; left_out: Record<string, number> }

/** The buttons that a campaign in a state has. */
export function buttonsOf(visit: Visit, path: string, status: string) {
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

/** The form that sends it, with how many would get it and why others would not. */
export async function sendForm(visit: Visit, path: string) {
  const { recipients, left_out } = await visit.ask<Preview>('previewCampaignRecipients', { params: idOf(visit) })
  const reasons = Object.entries(left_out).filter(([, number]) => number > 0)
  return section(
    'Send',
    html`${facts([
      ['Would get it', count(recipients)],
      ...reasons.map(([reason, number]) => [`Left out: ${reason.replaceAll('_', ' ')}`, count(number)] as const),
    ])}
${form(visit, {
  ...{ action: `${path}/test`, submit: 'Send a test' },
  fields: [{ name: 'to', label: 'Test addresses', hint: 'Up to 10, with commas.', required: true }],
})}
${form(visit, {
  ...{ action: `${path}/send`, submit: 'Send to everybody', isDangerous: true },
  fields: [
    {
      name: 'expected_recipients',
      label: 'Number of recipients',
      type: 'number',
      required: true,
      hint: `Type ${recipients} to confirm.`,
    },
    { name: 'scheduled_at', label: 'When', hint: 'Empty: now. Or a time such as "tomorrow at 9am", in UTC.' },
  ],
})}`,
  )
}

/** The figures of a campaign that is being sent or was sent. */
export async function report(visit: Visit) {
  const stats = await visit.ask<Record<string, number | string | null>>('getCampaignStats', { params: idOf(visit) })
  const names =
    'recipients sent delivered bounced failed complained suppressed canceled pending in_doubt unique_opened machine_opened unique_clicked machine_clicked replied unsubscribed'
  const shown = names.split(' ').map(name => [name.replaceAll('_', ' '), count(Number(stats[name] ?? 0))] as const)
  return section('Report', facts(shown))
}

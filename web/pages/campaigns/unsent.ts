import type { CampaignStats } from '#flows/campaigns/read_stats.ts'
import type { Campaign } from '#sql/campaigns/campaign_records.ts'
import { type Html, html } from '#web/html.ts'
import { button } from '#web/layout/form.ts'
import { count } from '#web/layout/parts.ts'
import { idOf } from '#web/layout/record_page.ts'
import { DOUBT_BUTTONS } from '#web/pages/emails/why_undelivered.ts'
import type { Form } from '#web/request/form.ts'
import type { Redirect, Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

/** Buttons for emails that failed or are in doubt, if there are any. Only those of the newest run that failed can be sent again. */
export function unsentEmails(visit: Visit, found: Wire<Campaign>, { failed, in_doubt }: Wire<CampaignStats>): Html {
  const path = `/campaigns/${found.id}`
  const hasEnded = found.status === 'sent' || (found.status === 'scheduled' && found.recurrence !== null)
  const canRetry = failed > 0 && hasEnded && !visit.query.run
  const doubts = DOUBT_BUTTONS.map(([action, name]) => button(visit, `${path}/in-doubt`, name, { values: { action } }))
  return html`${canRetry ? button(visit, `${path}/retry`, 'Retry failed emails') : ''}
${
  in_doubt > 0 && visit.mayChange
    ? html`<p>${count(in_doubt)} of the emails may have been delivered: if they are sent again, some recipients get them twice.
Decide for all emails in doubt of this campaign${found.recurrence ? ', of all its runs' : ''}:</p>${doubts}`
    : ''
}`
}

/** Handles the buttons for emails in doubt. */
export async function settleDoubts(visit: Visit, form: Form): Promise<Redirect> {
  const request = { params: idOf(visit), body: { action: form.text('action') } }
  const { decided } = await visit.call<{ decided: number }>('decideCampaignDoubts', request)
  return { to: `/campaigns/${idOf(visit).id}`, notice: `Emails settled: ${count(decided)}.` }
}

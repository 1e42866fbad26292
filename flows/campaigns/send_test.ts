import { z } from 'zod'
import { shareContents } from '#flows/contents/share_contents.ts'
import { acceptEmails } from '#flows/sending/accept_emails.ts'
import { type SendingParty, toDraft } from '#flows/sending/draft_emails.ts'
import { faultError } from '#flows/sending/errors.ts'
import { storeReferredContents } from '#flows/sending/store_contents.ts'
import type { Config } from '#lib/config.ts'
import { orNotFound } from '#lib/errors.ts'
import type { Address } from '#lib/mail/address.ts'
import { type CampaignId, findCampaign } from '#sql/campaigns/campaigns.ts'
import type { Pool, Tx } from '#sql/pool.ts'
import type { Draft } from '#sql/sending/accept/drafts.ts'
import { renderCampaign } from './content/render_campaign.ts'

/** The name of the tag of emails that are tests of a campaign; its id is the value. */
export const CAMPAIGN_TEST = 'campaign_test'

type Services = { pool: Pool; config: Config }

/** A test email of a campaign, for review before the campaign is sent. */
export const TestEmail = z
  .object({
    id: z.string(),
    to: z.string().describe('The address.'),
    variant: z.string().nullable().describe('Key of the variant; null: the campaign has no A/B test.'),
  })
  .meta({ id: 'TestEmail' })
type TestEmail = z.infer<typeof TestEmail>

/**
 * Prepares a test of the current state of a campaign: separate emails to some addresses, with the values of the contact
 * of each address, if there is one. With an A/B test each address gets every variant. They count as sends, but not in
 * the figures of the campaign. The returned function sends all, or none.
 *
 * @throws {ApiError} 404; 422 if the campaign cannot be sent; the function: the errors of POST /emails
 */
export async function prepareTest(
  { pool, config }: Services,
  party: SendingParty,
  id: CampaignId['id'],
  recipients: Address[],
): Promise<(tx: Tx) => Promise<TestEmail[]>> {
  const { account_id } = party
  const campaign = orNotFound('Campaign', await findCampaign(pool, { account_id, id }, { with_deleted: false }))
  const rendered = await renderCampaign(pool, account_id, campaign, recipients)
  const emails = rendered.map(({ email }) => ({ ...email, tags: [{ name: CAMPAIGN_TEST, value: id }] }))
  const contents = shareContents(emails)
  const drafts = emails.map(email => withTestPoll(toDraft(party, email, null, config.SIMULATOR_DOMAIN)))
  return async tx => {
    await storeReferredContents(tx, account_id, contents, drafts, async () => '')
    const answers = await acceptEmails(tx, drafts)
    const accepted = answers.map((answer, n) => {
      if ('fault' in answer) throw faultError(answer, drafts[n] as Draft)
      return answer.id
    })
    return rendered.map(({ to, variant }, n) => ({ id: accepted[n] as string, to, variant }))
  }
}

/** A test shows the poll of the campaign, and stores no answer. */
function withTestPoll(draft: Draft): Draft {
  return draft.poll ? { ...draft, poll: { ...draft.poll, is_test: true } } : draft
}

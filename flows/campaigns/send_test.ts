import { z } from 'zod'
import { shareContents } from '#flows/contents/share_contents.ts'
import { acceptEmails } from '#flows/sending/accept_emails.ts'
import { type SendingParty, toDraft } from '#flows/sending/draft_emails.ts'
import { faultError } from '#flows/sending/errors.ts'
import { storeReferredContents } from '#flows/sending/store_contents.ts'
import { type ResolvedEmail, renderParts } from '#flows/templates/render_parts.ts'
import { TimeSlice } from '#lib/async/time_slice.ts'
import type { Config } from '#lib/config.ts'
import { listContentKeys, listPropertyKeys, recipientLookup } from '#lib/contents/campaign/recipient_values.ts'
import { orNotFound } from '#lib/errors.ts'
import { type Address, parseAddress } from '#lib/mail/address.ts'
import type { Lookup } from '#lib/templates/render.ts'
import type { Campaign } from '#sql/campaigns/campaign_records.ts'
import { type CampaignId, findCampaign } from '#sql/campaigns/campaigns.ts'
import { type ContactValues, readContactValues } from '#sql/campaigns/contact_values.ts'
import { findSender } from '#sql/campaigns/start/judge_sender.ts'
import type { Pool, Tx } from '#sql/pool.ts'
import type { Draft } from '#sql/sending/accept/drafts.ts'
import { type FrozenVariant, freezeVariants } from './freeze_variants.ts'

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
  const rendered = await renderEach(pool, { account_id: party.account_id, id }, recipients)
  const emails = rendered.map(({ email }) => email)
  const contents = shareContents(emails)
  const drafts = emails.map(email => withTestPoll(toDraft(party, email, null, config.SIMULATOR_DOMAIN)))
  return async tx => {
    await storeReferredContents(tx, party.account_id, contents, drafts, async () => '')
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

type Rendered = { to: string; variant: string | null; email: ResolvedEmail }

async function renderEach(pool: Pool, { account_id, id }: CampaignId, recipients: Address[]): Promise<Rendered[]> {
  const campaign = orNotFound('Campaign', await findCampaign(pool, { account_id, id }, { with_deleted: false }))
  const { postal_address } = await findSender(pool, account_id, campaign.domain_id)
  const { variants, reply_to, poll } = await freezeVariants(pool, account_id, campaign, postal_address)
  const keys = variants.flatMap(({ html, text }) => listContentKeys(html, text))
  const properties = listPropertyKeys(
    variants.map(({ subject }) => subject),
    keys,
  )
  const rendered: Rendered[] = []
  for (const to of recipients) {
    const email = to.address.toLowerCase()
    const contact = await readContactValues(pool, { account_id, domain_id: campaign.domain_id, email }, properties)
    for (const variant of variants) {
      const email = await render({ ...campaign, reply_to, poll }, variant, to, contact)
      rendered.push({ to: to.address, variant: variant.key, email })
    }
  }
  return rendered
}

async function render(
  { id, reply_to, track_opens, track_clicks, poll }: Campaign,
  { sender, subject, html, text }: FrozenVariant,
  to: Address,
  contact: ContactValues,
): Promise<ResolvedEmail> {
  const email = {
    tags: [{ name: CAMPAIGN_TEST, value: id }],
    ...{ from: parseAddress(sender) as Address, to: [to], subject, html, text, track_opens, track_clicks, poll },
    reply_to: reply_to.map(address => parseAddress(address) as Address),
  }
  const readHtml = async () => '' // campaigns keep their html
  return renderParts(email as ResolvedEmail, lookupFor(to, contact), { readHtml, slice: new TimeSlice() })
}

function lookupFor({ address }: Address, contact: ContactValues): Lookup {
  return recipientLookup({ ...contact, email: contact.email ?? address, properties: contact.properties ?? {} })
}

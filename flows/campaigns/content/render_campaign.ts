import { type ResolvedEmail, renderParts } from '#flows/templates/render_parts.ts'
import { TimeSlice } from '#lib/async/time_slice.ts'
import { listContentKeys, listPropertyKeys, recipientLookup } from '#lib/contents/campaign/recipient_values.ts'
import { type Address, storedAddress } from '#lib/mail/address.ts'
import type { Lookup } from '#lib/templates/render.ts'
import { type ContactValues, readContactValues } from '#sql/campaigns/contact_values.ts'
import { findSender } from '#sql/campaigns/start/judge_sender.ts'
import type { Pool } from '#sql/pool.ts'
import { type FrozenCampaign, type FrozenVariant, freezeVariants, type SourceCampaign } from './freeze_variants.ts'

/** `variant`: its key; null: the campaign has no A/B test. */
export type RenderedCampaign = { to: string; variant: string | null; email: ResolvedEmail }

/**
 * Renders a campaign for review, as it would be sent now: every variant for each recipient, with the values of the contact that
 * has this address, if there is one. It need not be stored.
 *
 * @throws {ApiError} 422 if it cannot be sent
 */
export async function renderCampaign(
  pool: Pool,
  account_id: string,
  campaign: SourceCampaign,
  recipients: Address[],
): Promise<RenderedCampaign[]> {
  const { postal_address } = await findSender(pool, account_id, campaign.domain_id)
  const frozen = await freezeVariants(pool, account_id, campaign, postal_address)
  return renderVariants(pool, account_id, campaign, frozen, recipients)
}

/** Renders mail of a campaign that is frozen already, in the same way. `domain_id`: of its contacts. */
export async function renderVariants(
  pool: Pool,
  account_id: string,
  campaign: SourceCampaign,
  { variants, reply_to, poll }: Omit<FrozenCampaign, 'subject'>,
  recipients: Address[],
): Promise<RenderedCampaign[]> {
  const keys = variants.flatMap(({ html, text }) => listContentKeys(html, text))
  const properties = listPropertyKeys(
    variants.map(({ subject }) => subject),
    keys,
  )
  const rendered: RenderedCampaign[] = []
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
  { reply_to, track_opens, track_clicks, poll }: SourceCampaign,
  { sender, subject, html, text }: FrozenVariant,
  to: Address,
  contact: ContactValues,
): Promise<ResolvedEmail> {
  const email = {
    ...{ from: storedAddress(sender), to: [to], subject, html, text, track_opens, track_clicks, poll },
    reply_to: reply_to.map(storedAddress),
  }
  const readHtml = async () => '' // campaigns keep their html
  return renderParts(email as ResolvedEmail, lookupFor(to, contact), { readHtml, slice: new TimeSlice() })
}

function lookupFor({ address }: Address, contact: ContactValues): Lookup {
  return recipientLookup({ ...contact, email: contact.email ?? address, properties: contact.properties ?? {} })
}

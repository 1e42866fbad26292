import { renderWhole } from '#flows/templates/render_whole.ts'
import { orNotFound } from '#lib/errors.ts'
import type { Address } from '#lib/mail/address.ts'
import { type CampaignId, findCampaign } from '#sql/campaigns/campaigns.ts'
import { findSentMail } from '#sql/campaigns/report/sent_mail.ts'
import type { Pool } from '#sql/pool.ts'
import { requireTemplateId } from '../campaign_groups.ts'
import type { SourceCampaign } from './freeze_variants.ts'
import { type RenderedCampaign, renderCampaign, renderVariants } from './render_campaign.ts'

/** Fields that a preview may show before they are stored. `template_id`: may be an alias. */
export type PreviewedContent = Partial<
  Pick<SourceCampaign, 'subject' | 'preview_text' | 'html' | 'text' | 'template_id' | 'ab_test'>
>

export type CampaignPreview = { subject: string; html: string | null; text: string | null }

/**
 * Returns what a recipient would get of a draft with this content, or what was sent of another campaign; personal links stay
 * placeholders. `variant`: key of a variant of its A/B test. Default: the first one, or the content of the newest run.
 *
 * @throws {ApiError} 404; 422 if it cannot be sent
 */
export async function previewCampaign(
  pool: Pool,
  { account_id, id }: CampaignId,
  content: PreviewedContent,
  recipient: Address,
  variant?: string,
): Promise<CampaignPreview> {
  const stored = orNotFound('Campaign', await findCampaign(pool, { account_id, id }))
  const key = stored.ab_test?.variants.find(one => one.key === variant)?.key
  const sent = stored.status === 'draft' ? null : await findSentMail(pool, { account_id, id }, key)
  if (sent) return whole(await renderVariants(pool, account_id, stored, { ...stored, variants: [sent] }, [recipient]))
  const campaign: SourceCampaign = { ...stored, ...content }
  if (campaign.ab_test) campaign.ab_test = { variants: oneOf(campaign.ab_test.variants, variant) }
  campaign.template_id = await requireTemplateId(pool, account_id, campaign.template_id)
  return whole(await renderCampaign(pool, account_id, campaign, [recipient]))
}

async function whole([rendered]: RenderedCampaign[]): Promise<CampaignPreview> {
  const { subject, html, text = null, variables, has_links } = (rendered as RenderedCampaign).email
  return { subject, ...(await renderWhole({ html: html as string | null, text, variables, has_links })) }
}

/** Returns the variant with this key, or else the first one: the others need not be rendered. */
function oneOf<Variant extends { key: string }>(variants: Variant[], key: string | undefined): Variant[] {
  const found = variants.filter(one => one.key === key)
  return found.length > 0 ? found : variants.slice(0, 1)
}

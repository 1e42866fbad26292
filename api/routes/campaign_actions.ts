import { z } from 'zod'
import { refTo } from '#api/operations/answers.ts'
import { json } from '#api/operations/bodies.ts'
import { operation } from '#api/operations/operation.ts'
import { uuidParam } from '#api/operations/params.ts'
import { sendCampaign } from '#flows/campaigns/start_campaign.ts'
import { CampaignSending } from '#lib/campaigns/new_campaign.ts'
import { CAMPAIGN_SEND_ERRORS, requireCampaign, Warnings } from './campaigns.ts'

const params = { id: uuidParam('Campaign') }

const SentCampaign = refTo('campaign')
  .extend({
    status: z.enum(['queued', 'scheduled']).describe('Its new status.'),
    scheduled_at: z.date().nullable().describe('When it is sent; null: now.'),
    warnings: Warnings,
  })
  .meta({ id: 'SentCampaign' })

export const campaignActions = [
  operation('POST /campaigns/:id/send', {
    id: 'sendCampaign',
    aliases: ['/broadcasts/:id/send'],
    access: 'full',
    params,
    summary: 'Send or schedule a draft',
    description: 'Its content and its recipients are those of the moment at which sending begins.',
    body: json(CampaignSending),
    answers: { 200: SentCampaign },
    errors: CAMPAIGN_SEND_ERRORS,
  }).handle(async (ctx, { account_id, params: { id }, body }) => {
    await requireCampaign(ctx, account_id, id)
    return { object: 'campaign', id, ...(await sendCampaign(ctx, { account_id, id }, body() ?? {})) }
  }),
]

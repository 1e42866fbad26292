import { json } from '#api/operations/bodies.ts'
import { operation } from '#api/operations/operation.ts'
import { uuidParam } from '#api/operations/params.ts'
import { chooseByHand } from '#flows/campaigns/ab/decide_winner.ts'
import { CampaignAb, readAb } from '#flows/campaigns/ab/read_ab.ts'
import { AbWinner } from '#lib/campaigns/new_campaign.ts'
import { requireCampaign } from './campaigns.ts'

const params = { id: uuidParam('Campaign') }

export const campaignAb = [
  operation('GET /campaigns/:id/ab', {
    id: 'getCampaignAb',
    aliases: ['/broadcasts/:id/ab'],
    access: 'full',
    params,
    summary: 'Get the A/B test of a campaign',
    answers: { 200: CampaignAb },
  }).handle(async (ctx, { account_id, params: { id } }) => readAb(ctx.pool, { account_id, id })),

  operation('POST /campaigns/:id/ab/winner', {
    id: 'chooseCampaignWinner',
    aliases: ['/broadcasts/:id/ab/winner'],
    access: 'full',
    params,
    summary: 'Choose the winner of an A/B test by hand',
    description: 'All recipients who wait for the winner get this variant. Possible only until there is a winner.',
    body: json(AbWinner),
    answers: { 200: CampaignAb },
    errors: ['missing_required_field'],
  }).handle(async (ctx, { account_id, params: { id }, body }) => {
    await requireCampaign(ctx, account_id, id)
    await chooseByHand(ctx.pool, { account_id, id }, body().variant)
    return readAb(ctx.pool, { account_id, id })
  }),
]

import { z } from 'zod'
import { refTo } from '#api/operations/answers.ts'
import { json } from '#api/operations/bodies.ts'
import { operation } from '#api/operations/operation.ts'
import { uuidParam } from '#api/operations/params.ts'
import { DOUBT_ACTIONS, decideDoubts } from '#flows/delivery/decide_doubts.ts'
import { requireCampaign } from './campaigns.ts'

const params = { id: uuidParam('Campaign') }

const Decision = z
  .object({ action: z.enum(DOUBT_ACTIONS).describe('`retry`, `release` or `drop`, as for a single email.') })
  .meta({ id: 'DoubtDecision' })

const Decided = refTo('campaign')
  .extend({ decided: z.int().describe('Number of recipients that were in doubt.') })
  .meta({ id: 'DecidedCampaign' })

export const campaignDoubts = [
  operation('POST /campaigns/:id/in-doubt', {
    id: 'decideCampaignDoubts',
    aliases: ['/broadcasts/:id/in-doubt'],
    access: 'full',
    params,
    summary: 'Decide what happens to all emails in doubt of a campaign',
    body: json(Decision),
    answers: { 200: Decided },
    errors: ['missing_required_field'],
  }).handle(async (ctx, { account_id, params: { id }, body }) => {
    await requireCampaign(ctx, account_id, id)
    const decided = await decideDoubts(ctx.pool, { account_id, campaign_id: id }, body().action)
    return { object: 'campaign', id, decided }
  }),
]

import { z } from 'zod'
import { refTo } from '#api/operations/answers.ts'
import { json } from '#api/operations/bodies.ts'
import { operation } from '#api/operations/operation.ts'
import { uuidParam } from '#api/operations/params.ts'
import { DOUBT_ACTIONS, type DoubtAction, decideDoubts } from '#flows/delivery/decide_doubts.ts'
import { ApiError, notFound } from '#lib/errors.ts'
import { isCampaign } from '#sql/campaigns/campaigns.ts'
import { isEmail } from '#sql/sending/emails.ts'

function decideEmail(action: DoubtAction, summary: string, description: string) {
  return operation(`POST /emails/:id/${action}`, {
    id: `${action}Email`,
    access: 'full',
    params: { id: uuidParam('Email') },
    summary,
    description,
    answers: { 200: refTo('email').meta({ id: 'DecidedEmail' }) },
  }).handle(async (ctx, { account_id, params: { id } }) => {
    if (!(await isEmail(ctx.pool, account_id, id))) throw notFound('Email')
    const count = await decideDoubts(ctx.pool, { account_id, email_id: id }, action)
    if (count === 0) throw new ApiError('validation_error', 'No recipient of this email is in doubt.')
    return { object: 'email', id }
  })
}

export const emailDoubts = [
  decideEmail('retry', 'Send an email in doubt once more', 'Its recipients may get it twice.'),
  decideEmail('release', 'Take an email in doubt for delivered', 'It is not sent again.'),
  decideEmail('drop', 'Give up an email in doubt', 'It is not sent again, and ends as `failed`.'),
]

const Decision = z
  .object({ action: z.enum(DOUBT_ACTIONS).describe('`retry`, `release` or `drop`, as for a single email.') })
  .meta({ id: 'DoubtDecision' })

const Decided = refTo('campaign')
  .extend({ decided: z.int().describe('Number of recipients that were in doubt.') })
  .meta({ id: 'DecidedCampaign' })

export const campaignDoubts = [
  operation('POST /campaigns/:id/in-doubt', {
    id: 'decideCampaignDoubts',
    access: 'full',
    params: { id: uuidParam('Campaign') },
    summary: 'Decide all emails in doubt of a campaign',
    body: json(Decision),
    answers: { 200: Decided },
    errors: ['missing_required_field'],
  }).handle(async (ctx, { account_id, params: { id }, body }) => {
    if (!(await isCampaign(ctx.pool, { account_id, id }))) throw notFound('Campaign')
    const { action } = body()
    return {
      object: 'campaign',
      id,
      decided: await decideDoubts(ctx.pool, { account_id, campaign_id: id }, action),
    }
  }),
]

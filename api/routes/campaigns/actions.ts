import { z } from 'zod'
import { refTo } from '#api/operations/answers.ts'
import { json } from '#api/operations/bodies.ts'
import { operation } from '#api/operations/operation.ts'
import { uuidParam } from '#api/operations/params.ts'
import { answerPrepared, answerRequested, SEND_ERRORS } from '#api/send_requested.ts'
import { prepareTest, TestEmail } from '#flows/campaigns/send_test.ts'
import { sendCampaign } from '#flows/campaigns/start_campaign.ts'
import { continueCampaign, retryCampaign, stopCampaign, suspendCampaign } from '#flows/campaigns/stop_campaign.ts'
import { CampaignSending, CampaignTest } from '#lib/campaigns/new_campaign.ts'
import { CampaignStatus } from '#sql/campaigns/campaign_records.ts'
import { CAMPAIGN_SEND_ERRORS, requireCampaign, Warnings } from './campaigns.ts'

const params = { id: uuidParam('Campaign') }

const SentCampaign = refTo('campaign')
  .extend({
    status: z.enum(['queued', 'testing', 'scheduled']).describe('Its new status.'),
    scheduled_at: z.date().nullable().describe('When it is sent; null: immediately.'),
    warnings: Warnings,
  })
  .meta({ id: 'SentCampaign' })

const MovedCampaign = refTo('campaign')
  .extend({ status: CampaignStatus.describe('Its new status.') })
  .meta({ id: 'MovedCampaign' })

const RetriedCampaign = MovedCampaign.extend({
  recipients: z.int().describe('Number of recipients who get it again.'),
}).meta({ id: 'RetriedCampaign' })

const TestedCampaign = refTo('campaign')
  .extend({ emails: z.array(TestEmail).describe('The emails, in the order of the addresses.') })
  .meta({ id: 'TestedCampaign' })

export const campaignActions = [
  operation('POST /campaigns/:id/send', {
    id: 'sendCampaign',
    aliases: ['/broadcasts/:id/send'],
    access: 'full',
    params,
    headers: ['Idempotency-Key'],
    summary: 'Send or schedule a draft',
    description: 'The content and the recipients are determined when sending begins.',
    body: json(CampaignSending),
    answers: { 200: SentCampaign },
    errors: CAMPAIGN_SEND_ERRORS,
  }).handle(async (ctx, { account_id, params: { id }, body }) => {
    await requireCampaign(ctx, account_id, id)
    const sending = body() ?? {}
    const sent = await answerRequested(ctx, `/campaigns/${id}/send`, tx =>
      sendCampaign(tx, ctx.config, { account_id, id }, sending),
    )
    return { object: 'campaign', id, ...sent }
  }),

  operation('POST /campaigns/:id/cancel', {
    id: 'cancelCampaign',
    aliases: ['/broadcasts/:id/cancel'],
    access: 'full',
    params,
    summary: 'Cancel a campaign',
    description: 'A scheduled campaign becomes a draft again. A campaign that is being sent stops for good.',
    answers: { 200: MovedCampaign },
  }).handle(async (ctx, { account_id, params: { id } }) => ({
    object: 'campaign',
    id,
    status: await stopCampaign(ctx.pool, { account_id, id }),
  })),

  operation('POST /campaigns/:id/pause', {
    id: 'pauseCampaign',
    aliases: ['/broadcasts/:id/pause'],
    access: 'full',
    params,
    summary: 'Pause a campaign',
    description: 'No more emails of it are sent until it is resumed.',
    answers: { 200: MovedCampaign },
  }).handle(async (ctx, { account_id, params: { id } }) => ({
    object: 'campaign',
    id,
    status: await suspendCampaign(ctx.pool, { account_id, id }),
  })),

  operation('POST /campaigns/:id/resume', {
    id: 'resumeCampaign',
    aliases: ['/broadcasts/:id/resume'],
    access: 'full',
    params,
    summary: 'Resume a paused campaign',
    answers: { 200: MovedCampaign },
  }).handle(async (ctx, { account_id, params: { id } }) => ({
    object: 'campaign',
    id,
    status: await continueCampaign(ctx.pool, { account_id, id }),
  })),

  operation('POST /campaigns/:id/retry', {
    id: 'retryCampaign',
    aliases: ['/broadcasts/:id/retry'],
    access: 'full',
    params,
    summary: 'Send a campaign again to those whose email failed',
    description: 'Nobody else gets it again, in particular no address that bounced, complained or is suppressed.',
    answers: { 200: RetriedCampaign },
  }).handle(async (ctx, { account_id, params: { id } }) => {
    const recipients = await retryCampaign(ctx.pool, { account_id, id })
    return { object: 'campaign', id, status: 'queued', recipients }
  }),

  operation('POST /campaigns/:id/test', {
    id: 'testCampaign',
    aliases: ['/broadcasts/:id/test'],
    access: 'full',
    isSend: true,
    params,
    headers: ['Idempotency-Key'],
    summary: 'Send a campaign to yourself',
    description:
      'Sends it as it is now to the given addresses, with the values of contacts that have these addresses. The emails count as sends, but not in the figures of the campaign.',
    body: json(CampaignTest),
    answers: { 200: TestedCampaign },
    errors: SEND_ERRORS,
  }).handle(async (ctx, { account_id, params: { id }, body }) => {
    await requireCampaign(ctx, account_id, id)
    const { to } = body()
    return answerPrepared(ctx, `/campaigns/${id}/test`, async () => {
      const send = await prepareTest(ctx, ctx.state.caller, id, to)
      return async tx => ({ object: 'campaign' as const, id, emails: await send(tx) })
    })
  }),
]

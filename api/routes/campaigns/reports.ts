import { z } from 'zod'
import type { Context } from '#api/context.ts'
import { textParameter } from '#api/email_filters.ts'
import { listOf } from '#api/operations/answers.ts'
import { numericId } from '#api/operations/ids.ts'
import { operation } from '#api/operations/operation.ts'
import { uuidParam } from '#api/operations/params.ts'
import { wholeQuery } from '#api/operations/queries.ts'
import { previewRecipients, RecipientsPreview } from '#flows/campaigns/preview_recipients.ts'
import { CampaignStats, readStats } from '#flows/campaigns/read_stats.ts'
import { notFound } from '#lib/errors.ts'
import type { CampaignId } from '#sql/campaigns/campaigns.ts'
import { CampaignEngagement, readEngagement } from '#sql/campaigns/report/engagement.ts'
import { CampaignLink, listLinks } from '#sql/campaigns/report/links.ts'
import { BounceType, RecipientState, RecipientType } from '#sql/campaigns/report/recipient_filter.ts'
import { CampaignRecipient, listRecipients } from '#sql/campaigns/report/recipients.ts'
import type { RunRef } from '#sql/campaigns/report/run_of.ts'
import { CampaignRun, isRun, listRuns } from '#sql/campaigns/report/runs.ts'
import { requireCampaign } from './campaigns.ts'

const params = { id: uuidParam('Campaign') }

/** The largest possible number of a run. */
const MAX_RUN = 2_147_483_647

const run = z
  .string()
  .regex(/^[1-9][0-9]{0,9}$/, 'must be the number of a run')
  .transform(Number)
  .refine(number => number <= MAX_RUN, 'must be the number of a run')
  .optional()
  .meta({
    type: 'integer',
    minimum: 1,
    description: 'Number of a run of a recurring campaign. Default: the newest run.',
  })
const ofRun = z.object({ run })

/** @throws {ApiError} 404 */
async function requireRun(ctx: Context, campaign: CampaignId, readRun: () => number | undefined): Promise<RunRef> {
  await requireCampaign(ctx, campaign.account_id, campaign.id)
  const number = readRun()
  if (number !== undefined && !(await isRun(ctx.pool, campaign, number))) throw notFound('Run')
  return { ...campaign, run: number }
}

const recipientFilters = {
  run,
  state: RecipientState.optional().describe('Only recipients in this state.'),
  type: RecipientType.optional().describe('Only recipients to whom this happened.'),
  bounce_type: BounceType.optional().describe('Only recipients with this type of bounce.'),
  email: textParameter.describe('Only the recipient with this address.'),
}

export const campaignReports = [
  operation('GET /campaigns/:id/stats', {
    id: 'getCampaignStats',
    aliases: ['/broadcasts/:id/stats'],
    access: 'full',
    params,
    summary: 'Get the figures of a campaign',
    query: ofRun,
    answers: { 200: CampaignStats },
  }).handle(async (ctx, { account_id, params: { id }, query }) =>
    readStats(ctx.pool, await requireRun(ctx, { account_id, id }, () => query().run)),
  ),

  operation('GET /campaigns/:id/runs', {
    id: 'listCampaignRuns',
    aliases: ['/broadcasts/:id/runs'],
    access: 'full',
    params,
    summary: 'List the runs of a campaign, newest first',
    description: 'A campaign that does not recur has one run once it is sent.',
    query: wholeQuery({}, numericId),
    answers: { 200: listOf(CampaignRun) },
  }).handle(async (ctx, { account_id, params: { id }, query }) => {
    await requireCampaign(ctx, account_id, id)
    return listRuns(ctx.pool, { account_id, id }, query().position)
  }),

  operation('GET /campaigns/:id/engagement', {
    id: 'getCampaignEngagement',
    aliases: ['/broadcasts/:id/engagement'],
    access: 'full',
    params,
    summary: 'Get the recipients who opened, clicked and replied',
    query: ofRun,
    answers: { 200: CampaignEngagement },
  }).handle(async (ctx, { account_id, params: { id }, query }) =>
    readEngagement(ctx.pool, await requireRun(ctx, { account_id, id }, () => query().run)),
  ),

  operation('GET /campaigns/:id/clicked-links', {
    id: 'listCampaignLinks',
    aliases: ['/broadcasts/:id/clicked-links'],
    access: 'full',
    params,
    summary: 'List the links of a campaign, most clicked first',
    query: wholeQuery({ run }),
    answers: { 200: listOf(CampaignLink) },
  }).handle(async (ctx, { account_id, params: { id }, query }) => {
    const ref = await requireRun(ctx, { account_id, id }, () => query().filters.run)
    return listLinks(ctx.pool, ref, query().position)
  }),

  operation('GET /campaigns/:id/recipients', {
    id: 'listCampaignRecipients',
    aliases: ['/broadcasts/:id/recipients'],
    access: 'full',
    params,
    summary: 'List the recipients of a campaign',
    description: 'Includes contacts who were left out, with the reason. Empty before the campaign is sent.',
    query: wholeQuery(recipientFilters),
    answers: { 200: listOf(CampaignRecipient) },
  }).handle(async (ctx, { account_id, params: { id }, query }) => {
    const ref = await requireRun(ctx, { account_id, id }, () => query().filters.run)
    const { position, filters } = query()
    const { run: _, ...filter } = filters
    return listRecipients(ctx.pool, ref, filter, position)
  }),

  operation('GET /campaigns/:id/recipients/preview', {
    id: 'previewCampaignRecipients',
    aliases: ['/broadcasts/:id/recipients/preview'],
    access: 'full',
    params,
    summary: 'Count who would get a campaign now',
    description: 'Takes about two seconds per million contacts.',
    answers: { 200: RecipientsPreview },
  }).handle(async (ctx, { account_id, params: { id } }) => previewRecipients(ctx.pool, ctx.config, { account_id, id })),
]

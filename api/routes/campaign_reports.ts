import { z } from 'zod'
import { listOf } from '#api/operations/answers.ts'
import { json } from '#api/operations/bodies.ts'
import { operation } from '#api/operations/operation.ts'
import { uuidParam } from '#api/operations/params.ts'
import { wholeQuery } from '#api/operations/queries.ts'
import { chooseByHand } from '#flows/campaigns/ab/decide_winner.ts'
import { CampaignAb, readAb } from '#flows/campaigns/ab/read_ab.ts'
import { previewRecipients, RecipientsPreview } from '#flows/campaigns/preview_recipients.ts'
import { CampaignStats, readStats } from '#flows/campaigns/read_stats.ts'
import { AbWinner } from '#lib/campaigns/new_campaign.ts'
import { CampaignEngagement, readEngagement } from '#sql/campaigns/report/engagement.ts'
import { CampaignLink, listLinks } from '#sql/campaigns/report/links.ts'
import {
  BounceType,
  CampaignRecipient,
  listRecipients,
  RecipientState,
  RecipientType,
} from '#sql/campaigns/report/recipients.ts'
import { MovedCampaign } from './campaign_actions.ts'
import { requireCampaign } from './campaigns.ts'

const params = { id: uuidParam('Campaign') }

const MAX_LINKS = 1_000

const recipientFilters = {
  state: RecipientState.optional().describe('Only recipients in this state.'),
  type: RecipientType.optional().describe('Only recipients to whom this happened.'),
  bounce_type: BounceType.optional().describe('Only recipients with such a bounce.'),
  email: z.string().optional().describe('Only the recipient with this address.'),
}

export const campaignReports = [
  operation('GET /campaigns/:id/stats', {
    id: 'getCampaignStats',
    access: 'full',
    params,
    summary: 'Get the figures of a campaign',
    answers: { 200: CampaignStats },
  }).handle(async (ctx, { account_id, params: { id } }) => readStats(ctx.pool, { account_id, id })),

  operation('GET /campaigns/:id/ab', {
    id: 'getCampaignAb',
    access: 'full',
    params,
    summary: 'Get the A/B test of a campaign',
    answers: { 200: CampaignAb },
  }).handle(async (ctx, { account_id, params: { id } }) => readAb(ctx.pool, { account_id, id })),

  operation('POST /campaigns/:id/ab/winner', {
    id: 'chooseCampaignWinner',
    access: 'full',
    params,
    summary: 'Choose the winner of an A/B test by hand',
    description: 'All who have no email yet get this variant. Only until there is a winner.',
    body: json(AbWinner),
    answers: { 200: MovedCampaign },
    errors: ['missing_required_field'],
  }).handle(async (ctx, { account_id, params: { id }, body }) => {
    await requireCampaign(ctx, account_id, id)
    return { object: 'campaign', id, status: await chooseByHand(ctx.pool, { account_id, id }, body().variant) }
  }),

  operation('GET /campaigns/:id/engagement', {
    id: 'getCampaignEngagement',
    access: 'full',
    params,
    summary: 'Get who opened, clicked and replied',
    answers: { 200: CampaignEngagement },
  }).handle(async (ctx, { account_id, params: { id } }) => {
    await requireCampaign(ctx, account_id, id)
    return readEngagement(ctx.pool, { account_id, id })
  }),

  operation('GET /campaigns/:id/clicked-links', {
    id: 'listCampaignLinks',
    aliases: ['/broadcasts/:id/clicked-links'],
    access: 'full',
    params,
    summary: 'List the links of a campaign, most clicked first',
    description: 'The first 1,000.',
    answers: { 200: listOf(CampaignLink) },
  }).handle(async (ctx, { account_id, params: { id } }) => {
    await requireCampaign(ctx, account_id, id)
    const links = await listLinks(ctx.pool, { account_id, id }, MAX_LINKS + 1)
    return { object: 'list', has_more: links.length > MAX_LINKS, data: links.slice(0, MAX_LINKS) }
  }),

  operation('GET /campaigns/:id/recipients', {
    id: 'listCampaignRecipients',
    aliases: ['/broadcasts/:id/recipients'],
    access: 'full',
    params,
    summary: 'List the recipients of a campaign',
    description: 'Also contacts who were left out, with the reason. Empty before the campaign is sent.',
    query: wholeQuery(recipientFilters),
    answers: { 200: listOf(CampaignRecipient) },
  }).handle(async (ctx, { account_id, params: { id }, query }) => {
    await requireCampaign(ctx, account_id, id)
    const { position, filters } = query()
    return listRecipients(ctx.pool, { account_id, id }, filters, position)
  }),

  operation('GET /campaigns/:id/recipients/preview', {
    id: 'previewCampaignRecipients',
    access: 'full',
    params,
    summary: 'Count who would get a campaign now',
    description: 'Takes about two seconds per million contacts.',
    answers: { 200: RecipientsPreview },
  }).handle(async (ctx, { account_id, params: { id } }) => previewRecipients(ctx.pool, ctx.config, { account_id, id })),
]

import { z } from 'zod'
import type { Context } from '#api/context.ts'
import { changed, deleted, listOf } from '#api/operations/answers.ts'
import { json, longJson } from '#api/operations/bodies.ts'
import { operation } from '#api/operations/operation.ts'
import { uuidParam } from '#api/operations/params.ts'
import { wholeQuery } from '#api/operations/queries.ts'
import { answerRequested, KEY_ERRORS } from '#api/send_requested.ts'
import { type Author, changeCampaign, copyCampaign } from '#flows/campaigns/change_campaign.ts'
import { removeCampaign } from '#flows/campaigns/remove_campaigns.ts'
import { createCampaign } from '#flows/campaigns/start_campaign.ts'
import { requireDomain } from '#flows/contacts/contact_domain.ts'
import { CampaignChange, CampaignCopy, NewCampaign } from '#lib/campaigns/new_campaign.ts'
import { type ErrorName, notFound, orNotFound } from '#lib/errors.ts'
import { Campaign, CampaignStatus, ListedCampaign } from '#sql/campaigns/campaign_records.ts'
import { findCampaign, isCampaign, listCampaigns } from '#sql/campaigns/campaigns.ts'

const params = { id: uuidParam('Campaign') }

/** Errors of operations that begin to send a campaign. */
export const CAMPAIGN_SEND_ERRORS: ErrorName[] = [
  ...KEY_ERRORS,
  ...(['not_found', 'daily_quota_exceeded', 'monthly_quota_exceeded', 'reputation_paused'] as const),
  ...(['sending_service_unavailable', 'sending_configuration_unavailable'] as const),
]

/** Warnings about a campaign that can still be sent. */
export const Warnings = z
  .array(z.string())
  .describe(
    'Problems that recipients or their mail servers may object to, and links whose host depends on a value, in words. They do not prevent the campaign from being sent.',
  )

const CreatedCampaign = Campaign.extend({ warnings: Warnings.optional() }).meta({ id: 'CreatedCampaign' })

const filters = {
  status: CampaignStatus.optional().describe('Only campaigns with this status.'),
  q: z
    .string()
    .regex(/^[^\p{Cc}]{0,200}$/u, 'must be one line of at most 200 characters')
    .optional()
    .describe('Text in the name or the subject, ignoring case.'),
  domain: z.string().optional().describe('Only campaigns of this domain, by its name or id.'),
}

export const campaigns = [
  operation('POST /campaigns', {
    id: 'createCampaign',
    aliases: ['/broadcasts'],
    access: 'full',
    summary: 'Create a campaign',
    description:
      'It stays a draft until it is sent: immediately with `send`, or later with `POST /campaigns/:id/send`.',
    headers: ['Idempotency-Key'],
    body: longJson(NewCampaign),
    answers: { 201: CreatedCampaign },
    errors: ['missing_required_field', 'invalid_from_address', ...CAMPAIGN_SEND_ERRORS],
  }).handle(async (ctx, { body }) => {
    const given = body()
    return answerRequested(ctx, '/campaigns', tx => createCampaign(tx, ctx.config, authorOf(ctx), given))
  }),

  operation('GET /campaigns', {
    id: 'listCampaigns',
    aliases: ['/broadcasts'],
    access: 'full',
    summary: 'List campaigns, newest first',
    query: wholeQuery(filters),
    answers: { 200: listOf(ListedCampaign) },
  }).handle(async (ctx, { account_id, query }) => {
    const { position, filters } = query()
    const { domain, status, q } = filters
    const domain_id =
      domain === undefined ? undefined : await requireDomain(ctx.pool, { caller: ctx.state.caller, domain })
    return listCampaigns(ctx.pool, account_id, { status, q, domain_id }, position)
  }),

  operation('GET /campaigns/:id', {
    id: 'getCampaign',
    aliases: ['/broadcasts/:id'],
    access: 'full',
    params,
    summary: 'Get a campaign',
    answers: { 200: Campaign },
  }).handle(async (ctx, { account_id, params: { id } }) =>
    orNotFound('Campaign', await findCampaign(ctx.pool, { account_id, id })),
  ),

  operation('PATCH /campaigns/:id', {
    id: 'updateCampaign',
    aliases: ['/broadcasts/:id'],
    access: 'full',
    params,
    summary: 'Change a draft',
    description:
      'Fields that are left out stay as they are; null clears a field. To change a scheduled campaign, cancel it first.',
    body: longJson(CampaignChange),
    answers: { 200: changed('campaign') },
    errors: ['missing_required_field', 'invalid_from_address'],
  }).handle(async (ctx, { account_id, params: { id }, body }) => {
    await requireCampaign(ctx, account_id, id)
    await changeCampaign(ctx.pool, { account_id, id }, body())
    return { object: 'campaign', id }
  }),

  operation('DELETE /campaigns/:id', {
    id: 'deleteCampaign',
    aliases: ['/broadcasts/:id'],
    access: 'full',
    params,
    summary: 'Delete a draft or a scheduled campaign',
    description:
      'A recurring campaign ends: nothing more of it is sent. A campaign that was sent before can still be read by its id, with its reports.',
    answers: { 200: deleted('campaign') },
  }).handle(async (ctx, { account_id, params: { id } }) => {
    await removeCampaign(ctx.pool, { account_id, id })
    return { object: 'campaign', id, deleted: true }
  }),

  operation('POST /campaigns/:id/duplicate', {
    id: 'duplicateCampaign',
    aliases: ['/broadcasts/:id/duplicate'],
    access: 'full',
    params,
    summary: 'Copy a campaign as a new draft',
    headers: ['Idempotency-Key'],
    body: json(CampaignCopy),
    answers: { 201: Campaign },
    errors: KEY_ERRORS,
  }).handle(async (ctx, { account_id, params: { id }, body }) => {
    await requireCampaign(ctx, account_id, id)
    const name = body()?.name
    return answerRequested(ctx, `/campaigns/${id}/duplicate`, tx => copyCampaign(tx, authorOf(ctx), id, name))
  }),
]

function authorOf({ state: { caller } }: Context): Author {
  return { account_id: caller.account_id, source_id: caller.id }
}

/** Checks that the campaign of the path exists, before the body is read. @throws {ApiError} 404 */
export async function requireCampaign(ctx: Context, account_id: string, id: string): Promise<void> {
  if (!(await isCampaign(ctx.pool, { account_id, id }))) throw notFound('Campaign')
}

import { z } from 'zod'
import type { Context } from '#api/context.ts'
import { changed, deleted, listOf, refTo } from '#api/operations/answers.ts'
import { json, longJson } from '#api/operations/bodies.ts'
import { operation } from '#api/operations/operation.ts'
import { uuidParam } from '#api/operations/params.ts'
import { pagedQuery } from '#api/operations/queries.ts'
import { answerPrepared, answerRequested, KEY_ERRORS } from '#api/send_requested.ts'
import {
  type Author,
  changeAutomation,
  copyAutomation,
  createAutomation,
  removeAutomation,
  showAutomationWithRuns,
} from '#flows/automations/definitions/change_automation.ts'
import { stopAutomation } from '#flows/automations/definitions/stop_automation.ts'
import { impliedDomain, requireDomain } from '#flows/contacts/contact_domain.ts'
import { AutomationChange, AutomationCopy, AutomationStatus, NewAutomation } from '#lib/automations/new_automation.ts'
import { notFound } from '#lib/errors.ts'
import { Automation, ListedAutomation } from '#sql/automations/definitions/automation_records.ts'
import { isAutomation, listAutomations } from '#sql/automations/definitions/automations.ts'

const params = { id: uuidParam('Automation') }

const filters = {
  status: AutomationStatus.optional().describe('Only automations with this status.'),
  domain: z.string().optional().describe('Only automations of this domain, by its name or id.'),
}

const StoppedAutomation = refTo('automation')
  .extend({ status: z.literal('disabled').describe('`disabled`.') })
  .meta({ id: 'StoppedAutomation' })

export const automations = [
  operation('POST /automations', {
    id: 'createAutomation',
    access: 'full',
    summary: 'Create an automation',
    description:
      'Once it is enabled, the event of its trigger makes contacts enter. Without `connections`, each step leads to the next.',
    headers: ['Idempotency-Key'],
    body: longJson(NewAutomation),
    answers: { 201: Automation },
    errors: [...KEY_ERRORS, 'missing_required_field', 'invalid_from_address'],
  }).handle(async (ctx, { body }) => {
    const given = body()
    return answerPrepared(ctx, '/automations', async () => {
      const domain_id = await impliedDomain(ctx.pool, { caller: ctx.state.caller, domain: given.domain })
      return tx => createAutomation(tx, ctx.config, authorOf(ctx), domain_id, given)
    })
  }),

  operation('GET /automations', {
    id: 'listAutomations',
    access: 'full',
    summary: 'List automations, newest first',
    query: pagedQuery(filters),
    answers: { 200: listOf(ListedAutomation) },
  }).handle(async (ctx, { account_id, query }) => {
    const { position, filters } = query()
    const { domain, status } = filters
    const domain_id =
      domain === undefined ? undefined : await requireDomain(ctx.pool, { caller: ctx.state.caller, domain })
    return listAutomations(ctx.pool, account_id, { status, domain_id }, position)
  }),

  operation('GET /automations/:id', {
    id: 'getAutomation',
    access: 'full',
    params,
    summary: 'Get an automation with its steps and the numbers of its runs',
    answers: { 200: Automation },
  }).handle(async (ctx, { account_id, params: { id } }) => showAutomationWithRuns(ctx.pool, { account_id, id })),

  operation('PATCH /automations/:id', {
    id: 'updateAutomation',
    access: 'full',
    params,
    summary: 'Change an automation',
    description:
      'Changed steps become a new version for contacts that enter from now on; runs that have started keep their version. ' +
      'If it is disabled, no contacts enter, and runs that have started continue.',
    body: longJson(AutomationChange),
    answers: { 200: changed('automation') },
    errors: ['missing_required_field', 'invalid_from_address'],
  }).handle(async (ctx, { account_id, params: { id }, body }) => {
    await requireAutomation(ctx, account_id, id)
    const change = body()
    const { domain = null } = change
    const domain_id = domain === null ? null : await requireDomain(ctx.pool, { caller: ctx.state.caller, domain })
    await changeAutomation(ctx, { account_id, id }, change, domain_id)
    return { object: 'automation', id }
  }),

  operation('DELETE /automations/:id', {
    id: 'deleteAutomation',
    access: 'full',
    params,
    summary: 'Delete an automation and its runs',
    description: 'Its runs end at their current step. Emails that they have sent are kept.',
    answers: { 200: deleted('automation') },
  }).handle(async (ctx, { account_id, params: { id } }) => {
    await removeAutomation(ctx.pool, { account_id, id })
    return { object: 'automation', id, deleted: true }
  }),

  operation('POST /automations/:id/stop', {
    id: 'stopAutomation',
    access: 'full',
    params,
    summary: 'Disable an automation and end its runs',
    description: 'Runs take no further steps, and soon become `skipped`.',
    answers: { 200: StoppedAutomation },
  }).handle(async (ctx, { account_id, params: { id } }) => {
    await stopAutomation(ctx.pool, { account_id, id })
    return { object: 'automation', id, status: 'disabled' }
  }),

  operation('POST /automations/:id/duplicate', {
    id: 'duplicateAutomation',
    access: 'full',
    params,
    summary: 'Make a disabled copy of an automation',
    headers: ['Idempotency-Key'],
    body: json(AutomationCopy),
    answers: { 201: Automation },
    errors: KEY_ERRORS,
  }).handle(async (ctx, { account_id, params: { id }, body }) => {
    await requireAutomation(ctx, account_id, id)
    const name = body()?.name
    return answerRequested(ctx, `/automations/${id}/duplicate`, tx => copyAutomation(tx, authorOf(ctx), id, name))
  }),
]

function authorOf({ state: { caller } }: Context): Author {
  return { account_id: caller.account_id, source_id: caller.id }
}

/** Checks that the automation of the path exists, before the rest of the request is read. @throws {ApiError} 404 */
export async function requireAutomation(ctx: Context, account_id: string, id: string): Promise<void> {
  if (!(await isAutomation(ctx.pool, { account_id, id }))) throw notFound('Automation')
}

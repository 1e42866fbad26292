import { z } from 'zod'
import { listOf, refTo } from '#api/operations/answers.ts'
import { json } from '#api/operations/bodies.ts'
import { operation } from '#api/operations/operation.ts'
import { uuidParam } from '#api/operations/params.ts'
import { pagedQuery } from '#api/operations/queries.ts'
import { answerRequested, KEY_ERRORS } from '#api/send_requested.ts'
import { startRun } from '#flows/automations/run_automation.ts'
import { NewRun } from '#lib/automations/new_run.ts'
import { RunStatuses } from '#lib/automations/run_status.ts'
import { orNotFound } from '#lib/errors.ts'
import { AutomationRun, findRun, ListedRun, listRuns } from '#sql/automations/runs.ts'
import { requireAutomation } from './automations.ts'

const automation = { id: uuidParam('Automation') }
const params = { ...automation, run_id: uuidParam('Run') }

const StartedRun = refTo('automation_run')
  .extend({
    automation_id: z.string().describe('Id of the automation.'),
    contact_id: z.string().describe('Id of the contact.'),
    status: z.literal('running').describe('`running`.'),
  })
  .meta({ id: 'StartedAutomationRun' })

export const automationRuns = [
  operation('POST /automations/:id/run', {
    id: 'runAutomation',
    access: 'full',
    isAudited: false,
    params: automation,
    headers: ['Idempotency-Key'],
    summary: 'Start a run of an automation for a contact',
    description:
      'The same as if the event of its trigger had happened: the run counts for the quota, and `reentry` applies.',
    body: json(NewRun),
    answers: { 202: StartedRun },
    errors: ['missing_required_field', ...KEY_ERRORS, 'automation_quota_exceeded'],
  }).handle(async (ctx, { account_id, params: { id }, body }) => {
    await requireAutomation(ctx, account_id, id)
    const given = body()
    return answerRequested(ctx, `/automations/${id}/run`, tx => startRun(tx, { account_id, id }, given))
  }),

  operation('GET /automations/:id/runs', {
    id: 'listAutomationRuns',
    access: 'full',
    params: automation,
    summary: 'List the runs of an automation, newest first',
    query: pagedQuery({
      status: RunStatuses.optional().describe('Only runs with these statuses, separated by commas.'),
    }),
    answers: { 200: listOf(ListedRun) },
  }).handle(async (ctx, { account_id, params: { id }, query }) => {
    await requireAutomation(ctx, account_id, id)
    const { position, filters } = query()
    return listRuns(ctx.pool, { account_id, id }, filters.status ?? [], position)
  }),

  operation('GET /automations/:id/runs/:run_id', {
    id: 'getAutomationRun',
    access: 'full',
    params,
    summary: 'Get a run with the steps that it has reached',
    answers: { 200: AutomationRun },
  }).handle(async (ctx, { account_id, params: { id, run_id } }) => {
    await requireAutomation(ctx, account_id, id)
    return orNotFound('Run', await findRun(ctx.pool, { account_id, id }, run_id))
  }),
]

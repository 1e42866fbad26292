import { changed, deleted } from '#api/operations/answers.ts'
import { longJson } from '#api/operations/bodies.ts'
import { operation } from '#api/operations/operation.ts'
import { param, uuidParam } from '#api/operations/params.ts'
import { answerRequested, KEY_ERRORS } from '#api/send_requested.ts'
import { addStep, changeStep, removeStep } from '#flows/automations/definitions/change_steps.ts'
import { AddedStep, StepChange } from '#lib/automations/new_step.ts'
import { AutomationStep } from '#sql/automations/definitions/automation_records.ts'
import { requireAutomation } from './automations.ts'

const automation = { id: uuidParam('Automation') }
const params = { ...automation, step_id: param('Step', text => text, 'Id or key of the step.') }

export const automationSteps = [
  operation('POST /automations/:id/steps', {
    id: 'addAutomationStep',
    access: 'full',
    params: automation,
    summary: 'Add a step to an automation',
    description: 'The step that came next now follows the new step, on the first type of connection of the new step.',
    headers: ['Idempotency-Key'],
    body: longJson(AddedStep),
    answers: { 201: AutomationStep },
    errors: ['missing_required_field', 'invalid_from_address', ...KEY_ERRORS],
  }).handle(async (ctx, { account_id, params: { id }, body }) => {
    await requireAutomation(ctx, account_id, id)
    const step = body()
    return answerRequested(ctx, `/automations/${id}/steps`, tx => addStep(tx, ctx.config, { account_id, id }, step))
  }),

  operation('PATCH /automations/:id/steps/:step_id', {
    id: 'updateAutomationStep',
    access: 'full',
    params,
    summary: 'Change what a step does',
    body: longJson(StepChange),
    answers: { 200: changed('automation_step') },
    errors: ['missing_required_field', 'invalid_from_address'],
  }).handle(async (ctx, { account_id, params: { id, step_id }, body }) => {
    await requireAutomation(ctx, account_id, id)
    return { object: 'automation_step', id: await changeStep(ctx, { account_id, id }, step_id, body()) }
  }),

  operation('DELETE /automations/:id/steps/:step_id', {
    id: 'deleteAutomationStep',
    access: 'full',
    params,
    summary: 'Remove a step from an automation',
    description: 'The steps before it then lead to the step after it. The trigger cannot be removed.',
    answers: { 200: deleted('automation_step') },
  }).handle(async (ctx, { account_id, params: { id, step_id } }) => ({
    object: 'automation_step',
    id: await removeStep(ctx, { account_id, id }, step_id),
    deleted: true,
  })),
]

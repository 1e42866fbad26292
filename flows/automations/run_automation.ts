import type { NewRun } from '#lib/automations/new_run.ts'
import { ApiError, notFound, orNotFound } from '#lib/errors.ts'
import { findWrongType } from '#lib/events/new_definition.ts'
import { type AutomationId, findAutomation } from '#sql/automations/definitions/automations.ts'
import { type Entry, type GivenContact, runAutomation } from '#sql/automations/run_automation.ts'
import { findDefinition } from '#sql/events/definitions.ts'
import type { Tx } from '#sql/pool.ts'

export type StartedRun = {
  object: 'automation_run'
  id: string
  automation_id: string
  contact_id: string
  status: 'running'
}

/**
 * Has a contact enter an automation as if by its event.
 *
 * @throws {ApiError} 404; 422 if it is disabled, the contact may not enter again or the payload is wrong;
 *   `automation_quota_exceeded`
 */
export async function startRun(tx: Tx, automation: AutomationId, given: NewRun): Promise<StartedRun> {
  const payload = given.payload ?? {}
  const { trigger } = orNotFound('Automation', await findAutomation(tx, automation))
  const definition = trigger && (await findDefinition(tx, automation.account_id, { id: null, name: trigger }))
  const fault = definition && findWrongType(definition.schema, payload)
  if (fault) throw new ApiError('validation_error', fault)
  const { contact_id: given_id, email } = given
  const who: GivenContact = given_id ? { contact_id: given_id } : { email: email as string }
  const { outcome, run_id, contact_id } = await runAutomation(tx, automation, who, payload)
  if (outcome !== 'started') throw refusalOf(outcome)
  return {
    ...{ object: 'automation_run', id: run_id as string, automation_id: automation.id },
    ...{ contact_id: contact_id as string, status: 'running' },
  }
}

function refusalOf(outcome: Exclude<Entry['outcome'], 'started'>): ApiError {
  switch (outcome) {
    case 'no_contact':
      return notFound('Contact')
    case 'disabled':
      return new ApiError('validation_error', 'The automation is disabled: enable it first.')
    case 'reentry':
      return new ApiError('validation_error', 'The contact cannot enter the automation again, as its `reentry` says.')
    case 'limit':
      return new ApiError('validation_error', 'The contact has entered the automation too often in the last 24 hours.')
    case 'quota':
      return new ApiError(
        'automation_quota_exceeded',
        'Your plan has no automation run left in these 30 days. Nothing was started.',
      )
  }
}

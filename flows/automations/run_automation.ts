import type { NewRun } from '#lib/automations/new_run.ts'
import { ApiError, notFound, orNotFound } from '#lib/errors.ts'
import { findWrongType } from '#lib/events/new_definition.ts'
import { type AutomationId, findAutomation } from '#sql/automations/definitions/automations.ts'
import { findContactIds } from '#sql/contacts/contacts.ts'
import { findDefinition } from '#sql/events/definitions.ts'
import { type Entered, startRunByHand } from '#sql/events/enter_by_hand.ts'
import type { Tx } from '#sql/pool.ts'

export type StartedRun = {
  object: 'automation_run'
  id: string
  automation_id: string
  contact_id: string
  status: 'running'
}

/**
 * Starts a run of an automation for a contact, as its trigger event would.
 *
 * @throws {ApiError} 404; 422 if it is disabled, the contact may not enter again or the payload is wrong;
 *   `automation_quota_exceeded`
 */
export async function startRun(tx: Tx, automation: AutomationId, { who, payload }: NewRun): Promise<StartedRun> {
  const { trigger, domain_id } = orNotFound('Automation', await findAutomation(tx, automation))
  const definition = trigger && (await findDefinition(tx, automation.account_id, { id: null, name: trigger }))
  const fault = definition && findWrongType(definition.schema, payload)
  if (fault) throw new ApiError('validation_error', fault)
  const ref = 'contact_id' in who ? { id: who.contact_id } : { domain_id, email: who.email }
  const { id: contact_id } = orNotFound('Contact', await findContactIds(tx, automation.account_id, ref))
  const { outcome, run_id } = await startRunByHand(tx, {
    ...{ account_id: automation.account_id, automation_id: automation.id, contact_id, payload },
  })
  if (outcome !== 'started' || run_id === null) throw refusalOf(outcome)
  return { object: 'automation_run', id: run_id, automation_id: automation.id, contact_id, status: 'running' }
}

function refusalOf(outcome: Entered['outcome']): ApiError {
  switch (outcome) {
    case 'no_contact':
      return notFound('Contact')
    case 'disabled':
      return new ApiError('validation_error', 'The automation is disabled: enable it first.')
    case 'started':
    case 'entered':
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

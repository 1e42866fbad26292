import { orNotFound } from '#lib/errors.ts'
import {
  type AutomationId,
  lockAutomation,
  syncTrigger,
  updateAutomation,
} from '#sql/automations/definitions/automations.ts'
import { addClearing, hasEntered } from '#sql/automations/definitions/clear_runs.ts'
import { insertVersion, stopVersions } from '#sql/automations/definitions/versions.ts'
import type { Pool } from '#sql/pool.ts'
import { changing } from './change_automation.ts'

/**
 * Disables an automation and ends its runs: after this commit no step of any is taken, and their mail that still waits is not
 * sent. A job marks the runs as skipped. Contacts that enter when it is enabled again do so by another version.
 *
 * @throws {ApiError} 404
 */
export async function stopAutomation(pool: Pool, automation: AutomationId): Promise<void> {
  await changing(pool, async tx => {
    const before = orNotFound('Automation', await lockAutomation(tx, automation, { for_end: true }))
    const disabled = { ...before, status: 'disabled' } as const
    await updateAutomation(tx, automation, disabled)
    // From here on nobody enters, and it is seen who has.
    await syncTrigger(tx, automation)
    if (!(await hasEntered(tx, automation))) return
    await updateAutomation(tx, automation, { ...disabled, version: before.version + 1 })
    await insertVersion(tx, automation, before.version + 1, before.graph)
    await stopVersions(tx, automation, before.version)
    await addClearing(tx, automation)
  })
}

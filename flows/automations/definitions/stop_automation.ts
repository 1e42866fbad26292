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
 * Disables an automation and ends its runs: after this commit no run takes another step, and their queued mail is not
 * sent. A job marks the runs as skipped. Once the automation is enabled again, contacts enter a new version.
 *
 * @throws {ApiError} 404
 */
export async function stopAutomation(pool: Pool, automation: AutomationId): Promise<void> {
  await changing(pool, async tx => {
    const before = orNotFound('Automation', await lockAutomation(tx, automation, { for_end: true }))
    const disabled = { ...before, status: 'disabled' } as const
    await updateAutomation(tx, automation, disabled)
    // From here on no contact can enter, and all earlier entries are visible.
    await syncTrigger(tx, automation)
    if (!(await hasEntered(tx, automation))) return
    await updateAutomation(tx, automation, { ...disabled, version: before.version + 1 })
    await insertVersion(tx, automation, before.version + 1, before.graph)
    await stopVersions(tx, automation, before.version)
    await addClearing(tx, automation)
  })
}

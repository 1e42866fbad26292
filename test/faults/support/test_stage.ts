import type { Test } from 'tap'
import type { Report } from '#test/faults/campaign.ts'
import { createDatabase } from '#test/support/database/database.ts'
import { openStage, type Stage } from './stage.ts'

/** Processes of the project on a database of the test's own; none is left at its end. */
export async function openTestStage(t: Test): Promise<Stage> {
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => process.exit(1)) // which ends them too
  const stage = await openStage(await createDatabase(t))
  t.teardown(() => stage.close())
  return stage
}

/** A campaign finds nothing wrong. */
export function passes(t: Test, { figures, faults }: Report): void {
  t.strictSame(faults, [], JSON.stringify(figures))
}

import type { Test } from 'tap'
import type { Report } from '#test/faults/campaign.ts'
import { createDatabase } from '#test/support/database/database.ts'
import { openStage, type Stage } from './stage.ts'

/** Starts processes of the project on a database of this test; all of them end with the test. */
export async function openTestStage(t: Test): Promise<Stage> {
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => process.exit(1)) // which ends the processes too
  const stage = await openStage(await createDatabase(t))
  t.teardown(() => stage.close())
  return stage
}

/** Asserts that a fault test found no faults. */
export function passes(t: Test, { figures, faults }: Report): void {
  t.strictSame(faults, [], JSON.stringify(figures))
}

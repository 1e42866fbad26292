import t from 'tap'
import { takeDatabaseAway } from '#test/faults/database_away.ts'
import { killWithJobs } from '#test/faults/locked_jobs.ts'
import { loseDatabase } from '#test/faults/lose_database.ts'
import { openTestStage, passes } from '#test/faults/support/test_stage.ts'

t.test('the jobs of a killed worker are unlocked once its heartbeat is old', async t => {
  passes(t, await killWithJobs(await openTestStage(t), { jobs: 40, kills: 1 }))
})

t.test('results wait for an unreachable database, even if the job queue gives up', async t => {
  const options = { emails: 60, pending: 20, jobs: 40, seconds: 3, how: 'refuse' } as const
  passes(t, await takeDatabaseAway(await openTestStage(t), options))
})

t.test('a worker exits with 1 if its database stays unreachable', async t => {
  const options = { how: 'refuse', isAsked: false, emails: 0, jobs: 40 } as const
  passes(t, await loseDatabase(await openTestStage(t), options))
})

import { spawnSync } from 'node:child_process'
import { globSync, writeSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { ROOT } from '#test/support/root.ts'

const TIME_LIMIT = 2_400_000 // ms, for a whole group
const TEST_TIME_LIMIT = 400_000 // ms, for a test that does not set its own

/**
 * Runs the test files of a folder in this process, one test after the other: starting a process for each would take half of its
 * time. `group` is the calling file in test/together, such as `api_2.test.ts` or `workers/smtp_1.test.ts`; the files of
 * `test/api` or `test/workers/smtp` are dealt out to all groups of that name. A test that examines or changes its process is in an `*.alone.test.ts`.
 */
export function runTogether(group: string): void {
  t.setTimeout(TIME_LIMIT)
  limitEachTest()
  const root = t
  // The root ends when it has no test to run: this one lasts until all others are registered.
  t.test('all test files of the group can be loaded', async t => {
    const files = listFiles(group)
    t.ok(files.length > 0)
    for (const file of files) await import(pathToFileURL(file).href)
    t.equal(root.options.timeout, TIME_LIMIT, 'no file sets the limit of the whole group')
  })
}

/**
 * Ends the process when a test hangs, with the name of the test, what the process waits for, and all threads of the machine: the
 * report of a group that does not end says nothing of them.
 */
function limitEachTest(): void {
  t.on('subtestStart', test => test.setTimeout(TEST_TIME_LIMIT))
  t.on('subtestEnd', ({ name, timedOut }) => {
    if (!timedOut) return
    const threads = spawnSync('ps', ['-eLwwo', 'pid,ppid,lwp,stat,wchan:24,etimes,time,args'], { encoding: 'utf8' })
    const lines = [`${name}: did not end in time`, process.getActiveResourcesInfo().join(' '), threads.stdout ?? '']
    writeSync(2, `${lines.join('\n')}\n`) // tap would hold back what is written to process.stderr
    process.exit(1)
  })
}

/** The paths of the test files that a group runs. */
export function listFiles(group: string): string[] {
  const together = join(ROOT, 'test/together')
  const [name = ''] = basename(group, '.test.ts').split('_')
  const folder = join(relative(together, dirname(group)), name)
  const groups = globSync(join(together, `${folder}_*.test.ts`)).sort()
  return globSync(join(ROOT, 'test', folder, '**', '*.test.ts'))
    .filter(file => !file.endsWith('.alone.test.ts'))
    .sort()
    .filter((_, n) => groups[n % groups.length] === group)
}

import { report } from '#test/bench/support/stage.ts'
import { Report } from '#test/faults/campaign.ts'
import { MEGABYTE, sendLargeEmails } from '#test/faults/large_emails.ts'
import { Postgres } from '#test/faults/support/postgres.ts'
import { openStage, type Stage } from '#test/faults/support/stage.ts'

const FILE = 25 * MEGABYTE

/** Emails that warm up a process first: their memory, such as compiled code, is not a cost of large ones. */
const WARM = 5

/**
 * The cost of emails with 25 MB files for a web process that stores them and a worker that sends them, with their Postgres and a
 * sink that compares the received files with those posted.
 */
export async function benchLargeEmails(): Promise<void> {
  const postgres = await Postgres.create()
  try {
    const stage = await openStage(postgres.url)
    await measure(stage).finally(() => stage.close())
  } finally {
    await postgres.close()
  }
}

async function measure(stage: Stage): Promise<void> {
  const sink = await stage.startSink()
  const web = await stage.startWeb({ LOG_LEVEL: 'info' })
  const NODE_OPTIONS = '--max-semi-space-size=4' // as in the Procfile
  const worker = stage.start('test/faults/support/worker.ts', {
    MAIL_TRANSPORT: sink.url,
    LOG_LEVEL: 'warn',
    NODE_OPTIONS,
  })
  await worker.says(/^ready$/)
  const found = new Report()
  let next = 0
  const send = (count: number, size: number) => {
    const numbers = Array.from({ length: count }, () => next++)
    return sendLargeEmails(stage, { url: web.url, web: web.child, worker, sink }, found, numbers, [size])
  }
  await send(WARM, 2 * MEGABYTE)
  const one = await send(1, FILE)
  for (const name of ['web', 'worker'] as const) {
    const grown = one[name].peak - one[name].before
    const value = `${name} grew by ${(grown / MEGABYTE).toFixed(0)} MB, ${(grown / FILE).toFixed(1)} x the file`
    report('one email with a 25 MB file, end to end', value, '< 2 x the file', grown < 2 * FILE)
  }
  const many = await send(20, FILE)
  for (const name of ['web', 'worker'] as const) {
    const value = `${name} took ${(many[name].peak / MEGABYTE).toFixed(0)} MB, ${many.post_s} s + ${many.send_s} s`
    report('20 such emails at once, end to end', value, '< 768 MB', many[name].peak < 768 * MEGABYTE)
  }
  report('the received files equal those posted', found.faults.join('; ') || 'yes', 'yes', found.faults.length === 0)
}

import type { Test } from 'tap'
import { Advancer } from '#flows/automations/engine/advancer.ts'
import { IMPORT_TIMES, Importer } from '#flows/contacts/import/importer.ts'
import { Sender, type SenderTimes } from '#flows/delivery/sender.ts'
import { createTransport } from '#flows/delivery/transports.ts'
import { createBlobs } from '#flows/files/blobs.ts'
import type { Foundation } from '#flows/process/run_process.ts'
import { type AcceptedEmail, acceptEmails } from '#flows/sending/accept_emails.ts'
import { sendEmail } from '#flows/sending/send_email.ts'
import { WebhookSender } from '#flows/webhooks/sender.ts'
import type { WebhookTimes } from '#flows/webhooks/times.ts'
import type { SmtpTimeouts } from '#lib/delivery/smtp/server.ts'
import { decodeContents } from '#lib/files/upload/uploaded_content.ts'
import { createDns } from '#lib/net/dns.ts'
import { NewEmail } from '#lib/sending/new_email.ts'
import type { Draft } from '#sql/sending/accept/drafts.ts'
import type { Email } from '#sql/sending/email_records.ts'
import { findEmail } from '#sql/sending/emails.ts'
import { send_emails } from '#tasks/send_emails.ts'
import type { Work } from '#tasks/task.ts'
import { HOOK_TIMES } from '#test/support/webhooks/webhook_receiver.ts'
import type { TestAccount } from './world.ts'

/** Seconds instead of minutes, except for the lease, which a process must not lose on a busy machine. */
export const TEST_TIMES: SenderTimes = {
  lease_seconds: 40,
  heartbeat_ms: 1_500,
  poll_ms: 100,
  drain_ms: 10_000,
  keys_ms: 60_000,
}
export const TEST_TIMEOUTS: SmtpTimeouts = { connect: 1_000, message: 2_000, dot: 1_000 }

type SendingOptions = { times?: SenderTimes; timeouts?: SmtpTimeouts; room?: number; hook_times?: WebhookTimes }

/** The services of tasks. The sender sends only what it is offered until `sender.start()` makes it poll. */
export function openWork(
  t: Test,
  foundation: Foundation,
  mail_transport: string = foundation.config.MAIL_TRANSPORT,
  { timeouts = TEST_TIMEOUTS, hook_times = HOOK_TIMES, ...options }: SendingOptions = {},
): Work {
  const config = { ...foundation.config, MAIL_TRANSPORT: mail_transport }
  const { pool, log, secrets } = foundation
  const transport = createTransport({ config, pool, log, timeouts })
  const blobs = createBlobs(foundation)
  const sender = new Sender({ times: TEST_TIMES, ...foundation, config, transport, blobs, ...options })
  const webhooks = new WebhookSender({ ...foundation, config, times: hook_times })
  const importer = new Importer({ pool, log, blobs, times: IMPORT_TIMES })
  const automations = new Advancer({ pool, log, config })
  t.teardown(() => Promise.all([sender.stop(), webhooks.stop(), importer.stop(), automations.stop()]))
  return {
    config,
    pool,
    log,
    secrets,
    sender,
    webhooks,
    importer,
    automations,
    blobs,
    dns: createDns(config.DNS_SERVERS),
  }
}

/** Sends emails like a worker that gets their job, and waits for their results. */
export async function deliverEmails(work: Work, email_ids: string[]): Promise<void> {
  await send_emails({ email_ids }, work)
  await work.sender.idle()
}

/** Accepts an email like POST /emails; returns its id. */
export async function acceptEmail(
  foundation: Foundation,
  account: TestAccount,
  fields: Record<string, unknown> = {},
): Promise<string> {
  const body = { from: `hello@${account.domain}`, to: ['x@y.com'], subject: 'Hello', ...structuredClone(fields) }
  decodeContents(body)
  // In a separate statement, so that it has its own job.
  const acceptEmail = async (draft: Draft) => (await acceptEmails(foundation.pool, [draft]))[0] as AcceptedEmail
  const services = { ...foundation, blobs: createBlobs(foundation), acceptEmail }
  const { id } = await sendEmail(services, { account_id: account.id, domain_id: null }, NewEmail.parse(body), null)
  return id
}

/** Accepts many, ten at a time: a statement that waits 2 s for a connection fails, as on a busy machine each of hundreds would. */
export async function acceptEach(
  foundation: Foundation,
  account: TestAccount,
  emails: Record<string, unknown>[],
): Promise<string[]> {
  const ids: string[] = []
  for (let at = 0; at < emails.length; at += 10) {
    const some = emails.slice(at, at + 10)
    ids.push(...(await Promise.all(some.map(fields => acceptEmail(foundation, account, fields)))))
  }
  return ids
}

export async function readEmail({ pool }: Pick<Foundation, 'pool'>, account: TestAccount, id: string): Promise<Email> {
  const email = await findEmail(pool, account.id, id)
  if (!email) throw new Error(`no email ${id}`)
  return email
}

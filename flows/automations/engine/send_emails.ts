import { type AcceptedEmail, acceptEmails, type RefusedEmail } from '#flows/sending/accept_emails.ts'
import { faultError } from '#flows/sending/errors.ts'
import type { Answer } from '#lib/automations/evaluate/requests.ts'
import { StepError } from '#lib/automations/evaluate/step_error.ts'
import { ApiError } from '#lib/errors.ts'
import { listPostalAddresses } from '#sql/automations/engine/senders.ts'
import { storeContents } from '#sql/contents/contents.ts'
import { type StepPoll, storeStepPolls } from '#sql/polls/asked_polls.ts'
import type { Tx } from '#sql/pool.ts'
import type { Draft } from '#sql/sending/accept/drafts.ts'
import { mayPass } from '#sql/sending/accept/faults.ts'
import { listSentTemplates, type SentTemplate } from '#sql/templates/template_versions.ts'
import type { RequestingRun, SharedState } from './active_run.ts'
import type { StepContent } from './step_content.ts'
import { draftOf, mailOf, type StepMail } from './step_email.ts'

/**
 * Accepts the emails of runs in the transaction of their steps. The sources of the drafts are read in it as well,
 * without network access, so no draft can be older than the contact, the event or the template that it was made from.
 */
export async function sendEmails(
  shared: SharedState,
  requesting: RequestingRun<'email'>[],
): Promise<(Answer | Error)[]> {
  const drafts = await makeDrafts(shared, requesting)
  const made = drafts.flatMap(draft => (draft instanceof Error ? [] : [draft]))
  const accepted = (await acceptEmails(shared.tx, made)).values()
  return drafts.map(draft =>
    draft instanceof Error ? draft : judge(accepted.next().value as AcceptedEmail | RefusedEmail, draft),
  )
}

function judge(answer: AcceptedEmail | RefusedEmail, draft: Draft): Answer | Error {
  if ('id' in answer) return { kind: 'done', output: { email_id: answer.id } }
  switch (answer.fault) {
    case 'all_suppressed':
      return { kind: 'skipped', reason: whySuppressed(draft) }
    case 'topic_unknown':
      return { kind: 'skipped', reason: 'not_subscribed_to_topic' }
    case 'domain_not_allowed':
      return new StepError('validation_error', `The sender is not at the domain of the automation: ${draft.domain}.`)
  }
  const { name, message } = faultError(answer, draft)
  const error = new StepError(name, message)
  if (!mayPass(answer.fault, answer.detail)) return error
  return { kind: 'refused', error, retry_after: answer.detail.retry_after ?? null }
}

function whySuppressed({ recipients, topic_id }: Draft): string {
  if (recipients[0]?.reserved) return 'reserved_domain'
  return topic_id === null ? 'suppressed' : 'suppressed_or_not_subscribed_to_topic'
}

/** Rows that the emails of an account refer to: contents by their ids, and polls with the drafts that ask them. */
type Kept = { contents: Map<string, StepContent>; polls: { poll: StepPoll; draft: Draft }[] }

/** Makes the draft of each run, or the error that prevents it, and stores the rows that drafts refer to. */
async function makeDrafts(shared: SharedState, requesting: RequestingRun<'email'>[]): Promise<(Draft | Error)[]> {
  const mails = await readMails(shared, requesting)
  const kept = new Map<string, Kept>()
  const drafts = requesting.map(activeRun => {
    const mail = mails(activeRun)
    const draft = mail instanceof Error ? mail : attempt(() => draftOf(shared, activeRun, mail))
    if (mail instanceof Error || draft instanceof Error) return draft
    const { account_id } = activeRun.run
    const ofAccount: Kept = kept.get(account_id) ?? { contents: new Map(), polls: [] }
    kept.set(account_id, ofAccount)
    ofAccount.contents.set(mail.content.id, mail.content)
    if (mail.poll) ofAccount.polls.push({ poll: mail.poll, draft })
    return draft
  })
  for (const [account_id, { contents, polls }] of [...kept].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const rows = [...contents.values()].map(({ id, source }) => ({ id, ...source }))
    await storeContents(shared.tx, account_id, rows)
    if (polls.length === 0) continue
    const ids = await storeStepPolls(shared.tx, account_id, [...new Set(polls.map(({ poll }) => poll))])
    for (const { poll, draft } of polls) draft.poll_id = ids.get(poll.fingerprint)
  }
  return drafts
}

/** Reads the sources of the emails of steps, once per step and domain. */
async function readMails(
  { tx, properties }: SharedState,
  requesting: RequestingRun<'email'>[],
): Promise<(activeRun: RequestingRun<'email'>) => StepMail | Error> {
  const templates = await readTemplates(tx, requesting)
  const domains = requesting.map(({ run: { account_id, domain_id } }) => ({ account_id, domain_id }))
  const postal_addresses = await listPostalAddresses(tx, domains)
  const mails = new Map<string, Map<object, StepMail | Error>>()
  return activeRun => {
    const { run, automation, request } = activeRun
    const { config } = request
    const ofDomain = mails.get(run.domain_id) ?? new Map<object, StepMail | Error>()
    mails.set(run.domain_id, ofDomain)
    const known = ofDomain.get(config)
    if (known) return known
    const ref = config.template?.id
    const template =
      (ref && templates.get(run.account_id)?.find(({ id, alias }) => id === ref || alias === ref)) || null
    const author = { purpose: automation.purpose, postal_address: postal_addresses.get(run.domain_id) ?? null }
    const mail = attempt(() =>
      mailOf(activeRun, { template, properties: properties.get(run.account_id) ?? [], author }),
    )
    ofDomain.set(config, mail)
    return mail
  }
}

async function readTemplates(tx: Tx, requesting: RequestingRun<'email'>[]): Promise<Map<string, SentTemplate[]>> {
  const templates = new Map<string, SentTemplate[]>()
  for (const [account_id, activeRuns] of Map.groupBy(requesting, ({ run }) => run.account_id)) {
    const refs = new Set(activeRuns.flatMap(({ request: { config } }) => config.template?.id ?? []))
    if (refs.size > 0) templates.set(account_id, await listSentTemplates(tx, account_id, [...refs]))
  }
  return templates
}

/** Returns an error instead of throwing it, so that only this run fails. */
function attempt<Value>(make: () => Value): Value | Error {
  try {
    return make()
  } catch (error) {
    if (error instanceof ApiError) return new StepError(error.name, error.message)
    return error as Error
  }
}

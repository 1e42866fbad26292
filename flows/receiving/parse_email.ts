import type { Blobs } from '#flows/files/blobs.ts'
import { Semaphore } from '#lib/async/semaphore.ts'
import type { Secrets } from '#lib/secrets.ts'
import { announceReceivedEmails } from '#sql/receiving/announce_received_emails.ts'
import {
  claimEmailToParse,
  type EmailToParse,
  type Judgement,
  listEmailsToParse,
  markUnreadable,
  resetParseTries,
  type WaitingEmail,
} from '#sql/receiving/emails_to_parse.ts'
import type { ReceivedEmailId } from '#sql/receiving/received_emails.ts'
import { insertUnappliedReport } from '#sql/receiving/unapplied_reports.ts'
import type { ClassifyWork } from './classify_reply.ts'
import { type Judge, judgeMessage } from './judge_message.ts'
import { findRelation, isForInbox, UNRELATED } from './link_reply.ts'
import { parseRaw } from './parse/parse_raw.ts'
import { storeParsed } from './parse/store_parsed.ts'
import { unsubscribeByEmail } from './unsubscribe_by_email.ts'

type Work = ClassifyWork & Pick<Judge, 'judge_times'> & { blobs: Blobs; secrets: Secrets }

/** Maximum bytes of messages in memory, for all jobs of this process. Their parsed parts take as much again. */
const room = new Semaphore(64 * 1024 * 1024)
/**
 * Messages that a job handles at the same time. Only a few are parsed in a thread; the others wait for DNS, rspamd or
 * clamd, up to half a minute if those are silent.
 */
const AT_ONCE = 20
/** Maximum number of processes that may die while they parse a message. */
const MAX_DEATHS = 3

const UNAPPLIED = 'a report was received and changed nothing'

/** Parses received emails. A failure does not stop the others. @throws if some must be retried */
export async function parseEmails(work: Work, ids: ReceivedEmailId[]): Promise<void> {
  const waiting = (await listEmailsToParse(work.pool, ids)).values()
  const failures: unknown[] = []
  const read = async () => {
    for (const email of waiting) await parseInTurn(work, email).catch(error => failures.push(error))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, read))
  if (failures.length > 0) throw failures[0]
}

/**
 * Parses a received email as soon as there is room for it. It is claimed only then, since a death of the process counts against
 * all claimed emails. One that a process has died with takes all the room: if it was the cause, the next death counts against no other.
 */
async function parseInTurn(work: Work, { account_id, id, size, parse_tries }: WaitingEmail): Promise<void> {
  const bytes = parse_tries > 0 ? Number.POSITIVE_INFINITY : size
  await room.acquire(bytes)
  await parseEmail(work, { account_id, id }).finally(() => room.release(bytes))
}

/** Parses a received email once. If that is impossible, the email keeps its raw message and has a `parse_error`. */
async function parseEmail(work: Work, id: ReceivedEmailId): Promise<void> {
  const email = await claimEmailToParse(work.pool, id)
  if (!email) return // deleted, or read by an earlier run
  const isDone = await unsubscribeByEmail(work, email).catch(error => tryAgain(work, id, error))
  if (email.parse_tries > MAX_DEATHS) return giveUp(work, email, 'Each process that read it crashed.', null, isDone)
  try {
    const parsed = await parseRaw(work.blobs, email)
    const { buffer, byteOffset, length } = parsed.raw
    const raw = Buffer.from(buffer, byteOffset, length)
    const judgement = await judgeMessage(work, email, raw)
    if ('refused' in parsed) {
      await giveUp(work, email, parsed.refused, judgement, isDone)
    } else {
      const relation = isDone ? UNRELATED : await findRelation(work, email, parsed.message, raw)
      await storeParsed(work, email, parsed.message, judgement, relation)
      if (relation.fault) work.log.warn({ ...id, reason: relation.fault }, UNAPPLIED)
    }
  } catch (error) {
    await tryAgain(work, id, error)
  }
}

async function tryAgain(work: Work, id: ReceivedEmailId, error: unknown): Promise<never> {
  await resetParseTries(work.pool, id)
  throw error
}

/** Stores that an email cannot be read. `isDone`: it was sent to unsubscribe, and has been processed. */
async function giveUp(
  work: Work,
  email: EmailToParse,
  why: string,
  judgement: Judgement | null,
  isDone: boolean,
): Promise<void> {
  const id = { account_id: email.account_id, id: email.id }
  const isListed = !isDone && (await isForInbox(work, email))
  const isUnapplied = !isListed && !isDone
  const isNew = await work.pool.transaction(async tx => {
    if (!(await markUnreadable(tx, id, { why, judgement, isListed }))) return false
    if (isUnapplied) await insertUnappliedReport(tx, id, why)
    await announceReceivedEmails(tx, [id])
    return true
  })
  if (isNew && isUnapplied) work.log.warn({ ...id, reason: why }, UNAPPLIED)
}

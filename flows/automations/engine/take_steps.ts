import { TimeSlice } from '#lib/async/time_slice.ts'
import type { Answer, Request } from '#lib/automations/evaluate/requests.ts'
import type { ActiveRun, RequestingRun, SharedState } from './active_run.ts'
import { changeMemberships, deleteOwnContacts, updateContacts } from './change_contacts.ts'
import { lookBackForEvents } from './look_back.ts'
import { sendEmails } from './send_emails.ts'

type AnswerAll<Kind extends Request['kind']> = (
  shared: SharedState,
  requesting: RequestingRun<Kind>[],
) => Promise<(Answer | Error)[]>

/**
 * Handlers in the order in which they run: contacts are changed before mail is sent to them, and locks of contacts are
 * taken before those of quotas.
 */
const ANSWERS: { [Kind in Request['kind']]: AnswerAll<Kind> } = {
  events: lookBackForEvents,
  update: updateContacts,
  segment: changeMemberships,
  delete: deleteOwnContacts,
  email: sendEmails,
}
const KINDS = Object.keys(ANSWERS) as Request['kind'][]

/**
 * Maximum rounds in which runs change contacts. A run takes at most 20 steps, so only runs that share a contact need more.
 * They continue in a later set: this one holds the runs of other contacts too.
 */
const MAX_ROUNDS = 50

/** Advances each run as far as possible; requests of the same kind are handled together. */
export async function takeSteps(shared: SharedState, activeRuns: ActiveRun[]): Promise<void> {
  // Rules may have to search large payloads, and other work of the process must not wait for all of them.
  const slice = new TimeSlice()
  const resumeInTurn = async (activeRun: ActiveRun, answer?: Answer | Error) => {
    if (slice.isOver) await slice.pause()
    resume(activeRun, answer)
  }
  for (const activeRun of activeRuns) await resumeInTurn(activeRun)
  for (let n = 0; ; n++) {
    if (n >= MAX_ROUNDS) {
      for (const activeRun of activeRuns.filter(isChanging)) await resumeInTurn(activeRun, { kind: 'busy' })
    }
    const round = chooseRound(activeRuns)
    if (round.length === 0) return
    for (const kind of KINDS) {
      const requesting = round.filter(({ request }) => request?.kind === kind)
      if (requesting.length === 0) continue
      const answers = await (ANSWERS[kind] as AnswerAll<Request['kind']>)(
        shared,
        requesting as RequestingRun<Request['kind']>[],
      )
      for (const [n, activeRun] of requesting.entries()) await resumeInTurn(activeRun, answers[n])
    }
  }
}

/** Lets only the first run per contact make changes, so that the others see them. */
function chooseRound(activeRuns: ActiveRun[]): ActiveRun[] {
  const changed = new Set<string>()
  return activeRuns.filter(activeRun => {
    const { contact_id } = activeRun.run
    if (!isChanging(activeRun)) return activeRun.request !== null
    if (changed.has(contact_id)) return false
    changed.add(contact_id)
    return true
  })
}

function isChanging({ request }: ActiveRun): boolean {
  return request !== null && request.kind !== 'events' && request.kind !== 'email'
}

/** Starts a run, or resumes it with an answer; an error fails the step. */
function resume(activeRun: ActiveRun, answer?: Answer | Error): void {
  const { done, value } =
    answer instanceof Error ? activeRun.steps.throw(answer) : activeRun.steps.next(answer as Answer)
  activeRun.request = done ? null : value
  activeRun.advanced = done ? value : null
}

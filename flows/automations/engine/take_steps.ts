import { Turns } from '#lib/async/turns.ts'
import type { Answer, Request } from '#lib/automations/evaluate/requests.ts'
import { changeMemberships, deleteOwnContacts, updateContacts } from './change_contacts.ts'
import { lookBackForEvents } from './look_back.ts'
import { sendEmails } from './send_emails.ts'
import type { Asking, Together, Walker } from './walker.ts'

type AnswerAll<Kind extends Request['kind']> = (
  together: Together,
  asking: Asking<Kind>[],
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

/** Advances each run as far as possible; requests of the same kind are handled together. */
export async function takeSteps(together: Together, walkers: Walker[]): Promise<void> {
  // Rules may have to search large payloads, and other work of the process must not wait for all of them.
  const turns = new Turns()
  const walkInTurn = async (walker: Walker, answer?: Answer | Error) => {
    if (turns.isOver) await turns.rest()
    walk(walker, answer)
  }
  for (const walker of walkers) await walkInTurn(walker)
  for (;;) {
    const round = chooseRound(walkers)
    if (round.length === 0) return
    for (const kind of KINDS) {
      const asking = round.filter(({ request }) => request?.kind === kind)
      if (asking.length === 0) continue
      const answers = await (ANSWERS[kind] as AnswerAll<Request['kind']>)(together, asking as Asking<Request['kind']>[])
      for (const [n, walker] of asking.entries()) await walkInTurn(walker, answers[n])
    }
  }
}

/** Lets only the first run per contact make changes, so that the others see them. */
function chooseRound(walkers: Walker[]): Walker[] {
  const changed = new Set<string>()
  return walkers.filter(({ request, run: { contact_id } }) => {
    if (request === null) return false
    if (request.kind === 'events' || request.kind === 'email') return true
    if (changed.has(contact_id)) return false
    changed.add(contact_id)
    return true
  })
}

/** Starts a run, or resumes it with an answer; an error fails the step. */
function walk(walker: Walker, answer?: Answer | Error): void {
  const { done, value } = answer instanceof Error ? walker.steps.throw(answer) : walker.steps.next(answer as Answer)
  walker.request = done ? null : value
  walker.advanced = done ? value : null
}

import fc from 'fast-check'
import t from 'tap'
import { advanceRun } from '#lib/automations/evaluate/advance_run.ts'
import type { RunContact } from '#lib/automations/evaluate/facts.ts'
import type { Answer, Request } from '#lib/automations/evaluate/requests.ts'
import type { Advanced, RunState } from '#lib/automations/evaluate/run_state.ts'
import { StepError } from '#lib/automations/evaluate/step_error.ts'
import { graphOf, type TestConnection, type TestStep } from '#test/support/automation_runs.ts'

const START: RunState = {
  ...{ step: 0, seq: 0, wait_event: null, wait_until: null, refused_since: null, event: null },
  ...{ consumed: [], has_sent: false, has_skipped: false },
}
const CONTACT: RunContact = {
  ...{
    id: 'c',
    email: 'ann@b.com',
    first_name: 'Ann',
    last_name: null,
    unsubscribed: false,
    timezone: 'Europe/Berlin',
  },
  ...{ created_at: new Date(0), own: {}, properties: {} },
}

const TYPES: TestStep[] = [
  { type: 'delay', config: { duration: '1 hour' } },
  { type: 'delay', config: { until: { time: '09:00', timezone: 'contact' } } },
  { type: 'wait_for_event', config: { event_name: 'x', timeout: '2 hours' } },
  { type: 'condition', config: { type: 'rule', field: 'event.n', operator: 'gt', value: 1 } },
  { type: 'send_email', config: { from: 'a@b.com', subject: 's', html: 'h' } },
  { type: 'contact_update', config: { last_name: { var: 'event.n' } } },
  { type: 'add_to_segment', config: { segment_id: '00000000-0000-7000-8000-000000000000' } },
  { type: 'contact_delete' },
]
const WAYS: Record<string, TestConnection[2][]> = {
  condition: ['condition_met', 'condition_not_met'],
  wait_for_event: ['event_received', 'timeout'],
  contact_delete: [],
}

/** Steps in a row, each reached by one of the outcomes of the step before. */
const anyGraph = fc
  .array(fc.record({ type: fc.constantFrom(...TYPES), way: fc.nat(1) }), { minLength: 1, maxLength: 30 })
  .map(picked => {
    const end = picked.findIndex(({ type: { type } }) => type === 'contact_delete')
    const chosen = end < 0 ? picked : picked.slice(0, end + 1)
    const steps = chosen.map(({ type }, n) => ({ ...type, key: `s${n}` }))
    const connections = steps.map(({ key }, n): TestConnection => {
      const before = chosen[n - 1]
      if (!before) return ['start', key]
      const ways = WAYS[before.type.type] ?? ['default']
      return [`s${n - 1}`, key, ways[before.way % ways.length]]
    })
    return graphOf(steps, connections)
  })

const anyAnswer = fc.record({ kind: fc.nat(9), n: fc.integer({ min: 0, max: 3 }) })
type Choice = { kind: number; n: number }

function answerTo(request: Request, { kind, n }: Choice, id: () => string): Answer | Error {
  if (request.kind === 'events') {
    return { kind: 'events', events: kind < 4 ? [{ id: id(), payload: { n } }] : [], is_full: kind === 9 }
  }
  if (kind === 0) return new StepError('validation_error', 'no')
  if (kind === 1) return { kind: 'busy' }
  if (kind === 2) return { kind: 'skipped', reason: 'suppressed' }
  if (kind === 3) return { kind: 'refused', error: new StepError('reputation_paused', 'paused'), retry_after: null }
  return { kind: 'done', output: { n } }
}

t.test('a run ends whatever its steps return, and numbers its steps without gaps', async () => {
  fc.assert(
    fc.property(anyGraph, fc.array(anyAnswer, { minLength: 1 }), (graph, choices) => {
      let state = START
      let now = new Date('2026-03-28T12:00:00Z')
      let asked = 0
      const consumed: string[] = []
      const records = new Map<number, string[]>()
      for (let set = 0; set < 2_000; set++) {
        const payload = { n: 2 }
        const steps = advanceRun(state, { graph, contact: CONTACT, payload, purpose: 'marketing', now })
        let turn = steps.next()
        while (!turn.done) {
          const answer = answerTo(turn.value, choices[asked++ % choices.length] as Choice, () => `e${asked}`)
          turn = answer instanceof Error ? steps.throw(answer) : steps.next(answer)
        }
        const advanced: Advanced = turn.value
        if (advanced.unexpected) throw advanced.unexpected
        for (const { seq, status } of advanced.steps) records.set(seq, [...(records.get(seq) ?? []), status])
        consumed.splice(0, consumed.length, ...advanced.state.consumed)
        state = advanced.state
        if (advanced.status !== 'running') {
          const seqs = [...records.keys()]
          const isInOrder = seqs.every((seq, n) => seq === n + 1)
          const areOver = [...records.values()].every(statuses => statuses.at(-1) !== 'waiting')
          const areOnce = [...records.values()].every(all => all.filter(status => status !== 'waiting').length === 1)
          const hasWaited = state.wait_event !== null || state.wait_until !== null || state.refused_since !== null
          const isUnique = new Set(consumed).size === consumed.length
          return isInOrder && areOver && areOnce && !hasWaited && isUnique && advanced.due === null
        }
        // A run may be woken by anything, and late.
        now = new Date(Math.max(now.getTime() + 1, (advanced.due?.getTime() ?? 0) - (set % 3 === 0 ? 1 : 0)))
      }
      // A run may stay open only if its contact is always busy or the event log is endless.
      return choices.every(({ kind }) => kind === 1 || kind === 9)
    }),
    { numRuns: 200 },
  )
})

import fc from 'fast-check'
import t from 'tap'
import { buildGraph, connectionsOf, type Graph, listConnections } from '#lib/automations/graph.ts'
import type { Connection, ConnectionType, Step } from '#lib/automations/new_step.ts'
import { ApiError } from '#lib/errors.ts'

const EVENT = { event_name: 'user.signed_up' }
const configs = {
  trigger: EVENT,
  delay: { duration: '1 day' },
  wait_for_event: { ...EVENT, timeout: null, filter_rule: null },
  condition: { type: 'rule', field: 'contact.email', operator: 'exists' },
  contact_delete: {},
}
type Type = keyof typeof configs
const types = Object.keys(configs) as Type[]

const stepOf = (type: Type, n: number) => ({ key: `s${n}`, type, config: configs[type] }) as Step
const idOf = (key: string) => `id of ${key}`

function build(steps: Step[], connections: Connection[]): Graph | string {
  try {
    return buildGraph(steps, connections, idOf)
  } catch (error) {
    if (error instanceof ApiError && error.name === 'validation_error') return error.message
    throw error
  }
}

/** Steps after a trigger and connections that fit them: a graph, except that it may have loops and unreachable steps. */
const fitting = fc
  .array(fc.constantFrom<Type>('delay', 'wait_for_event', 'condition', 'contact_delete'), { maxLength: 8 })
  .chain(others => {
    const steps = (['trigger', ...others] as Type[]).map(stepOf)
    const ends = steps.flatMap(({ key, type }) => connectionsOf(type).map(connection => ({ key, connection })))
    const targets = fc.option(fc.integer({ min: 1, max: Math.max(1, steps.length - 1) }), { freq: 4 })
    return fc.tuple(...ends.map(() => targets)).map(chosen => {
      const connections = chosen.flatMap((to, n): Connection[] => {
        const { key, connection } = ends[n] as (typeof ends)[number]
        return to === null || steps.length === 1 ? [] : [{ from: key, to: `s${to}`, type: connection }]
      })
      return { steps, connections }
    })
  })

/** The transitive closure of "leads to" (Warshall), found without walking the graph. */
function closure({ steps, connections }: { steps: Step[]; connections: Connection[] }): boolean[][] {
  const at = new Map(steps.map(({ key }, n) => [key, n]))
  const leads = steps.map(() => steps.map(() => false))
  for (const { from, to } of connections) (leads[at.get(from) as number] as boolean[])[at.get(to) as number] = true
  for (const k of steps.keys())
    for (const i of steps.keys())
      for (const j of steps.keys()) if (leads[i]?.[k] && leads[k]?.[j]) (leads[i] as boolean[])[j] = true
  return leads
}

t.test('a graph is accepted if and only if all steps are reachable and none loops', async t => {
  const seen = { taken: 0, loop: 0, missed: 0 }
  fc.assert(
    fc.property(fitting, given => {
      const leads = closure(given)
      const missed = given.steps.some((_, n) => n > 0 && !leads[0]?.[n])
      const loop = given.steps.some((_, n) => leads[n]?.[n] && leads[0]?.[n])
      const result = build(given.steps, given.connections)
      const found = typeof result !== 'string' ? 'taken' : /form a loop/.test(result) ? 'loop' : 'missed'
      seen[found]++
      if (typeof result === 'string' && found === 'missed') t.match(result, /cannot be reached from the trigger/)
      return found === (loop ? 'loop' : missed ? 'missed' : 'taken')
    }),
    { numRuns: 2_000 },
  )
  for (const [found, count] of Object.entries(seen)) t.ok(count > 50, `${found}: ${count}`)
})

t.test('listConnections returns the connections a graph was built from', async t => {
  let taken = 0
  const inOrder = (connections: Connection[]) =>
    connections.map(one => JSON.stringify(one, ['from', 'to', 'type'])).sort()
  fc.assert(
    fc.property(fitting, ({ steps, connections }) => {
      const graph = build(steps, connections)
      if (typeof graph === 'string') return
      taken++
      t.strictSame(inOrder(listConnections(graph)), inOrder(connections))
      t.strictSame(buildGraph(graph.steps, listConnections(graph), idOf), graph)
    }),
    { numRuns: 500 },
  )
  t.ok(taken > 50, `${taken} graphs`)
})

t.test('any steps and connections make a graph of the named steps, or are refused', async t => {
  let taken = 0
  const step = fc.record({ type: fc.constantFrom(...types), n: fc.nat(5) }).map(({ type, n }) => stepOf(type, n))
  const key = fc.oneof({ weight: 9, arbitrary: fc.nat(5).map(n => `s${n}`) }, { weight: 1, arbitrary: fc.string() })
  const type = fc.constantFrom<ConnectionType>(
    'default',
    'condition_met',
    'condition_not_met',
    'event_received',
    'timeout',
  )
  const connection = fc.record({ from: key, to: key, type })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 6 }), fc.array(connection, { maxLength: 8 }), (steps, connections) => {
      const graph = build(steps, connections)
      if (typeof graph === 'string') return
      taken++
      const keys = new Set(steps.map(({ key }) => key))
      t.equal(keys.size, steps.length)
      t.equal(steps.filter(({ type }) => type === 'trigger').length, Math.min(1, steps.length))
      t.equal(graph.steps[0]?.type ?? 'trigger', 'trigger')
      for (const { type, next } of graph.steps) {
        for (const name of Object.keys(next)) t.ok(connectionsOf(type).includes(name as ConnectionType))
      }
      t.ok(connections.every(({ from, to }) => keys.has(from) && keys.has(to)))
    }),
    { numRuns: 2_000 },
  )
  t.ok(taken > 20, `${taken} graphs`)
})

t.test('each fault of a graph has its message', async t => {
  const [trigger, delay, condition] = [stepOf('trigger', 0), stepOf('delay', 1), stepOf('condition', 2)]
  const to = (from: string, to: string, type: ConnectionType = 'default') => ({ from, to, type })
  const faults: [Step[], Connection[], RegExp][] = [
    [[delay], [], /has no trigger/],
    [[trigger, stepOf('trigger', 1)], [], /`s0` and `s1` are both triggers/],
    [[trigger, delay, delay], [], /Two steps have the key `s1`/],
    [[trigger], [to('s9', 's0')], /A connection begins at "s9", which is not a step/],
    [[trigger], [to('s0', 's9')], /The step `s0` has a connection to "s9", which is not a step/],
    [[trigger, delay], [to('s0', 's1'), to('s1', 's0')], /The step `s1` has a connection to the trigger/],
    [
      [trigger, delay],
      [to('s0', 's1', 'timeout')],
      /The step `s0` has a connection of type `timeout`: a `trigger` can have only `default`/,
    ],
    [
      [trigger, condition],
      [to('s0', 's2'), to('s2', 's2')],
      /`condition` can have only `condition_met` or `condition_not_met`/,
    ],
    [[trigger, delay], [to('s0', 's1'), to('s0', 's1')], /The step `s0` has two connections of type `default`/],
    [[trigger, delay], [to('s0', 's1'), to('s1', 's1')], /The step `s1` leads back to `s1`/],
    [[trigger, delay], [], /The step `s1` cannot be reached/],
    [Array.from({ length: 151 }, (_, n) => stepOf('delay', n)), [], /at most 150 steps/],
    [
      [trigger, { key: 's1', type: 'send_email', config: { html: 'x'.repeat(1e6) } } as Step],
      [to('s0', 's1')],
      /larger than 1,000,000/,
    ],
  ]
  for (const [steps, connections, message] of faults) t.match(build(steps, connections), message)
})

import { z } from 'zod'
import { type Graph, type GraphStep, listConnections } from '#lib/automations/graph.ts'
import { AutomationStatus, PURPOSE, Purpose, REENTRY, Reentry } from '#lib/automations/new_automation.ts'
import { ConnectionType, StepTypeName } from '#lib/automations/new_step.ts'
import { sql } from '#sql/pool.ts'

export const AutomationStep = z
  .object({
    object: z.literal('automation_step'),
    id: z.string(),
    key: z.string().describe('Name of the step, unique in the automation.'),
    type: StepTypeName.describe('Type of the step.'),
    config: z.record(z.string(), z.unknown()).describe('What it does, with all defaults filled in.'),
  })
  .meta({ id: 'AutomationStep' })
export type AutomationStep = z.infer<typeof AutomationStep>

const AutomationConnection = z
  .object({
    from: z.string().describe('Key of the step at which it begins.'),
    to: z.string().describe('Key of the step that it leads to.'),
    type: ConnectionType.describe('When a run goes this way.'),
  })
  .meta({ id: 'AutomationConnection' })

const listed = {
  object: z.literal('automation'),
  id: z.string(),
  name: z.string().describe('Name for people.'),
  status: AutomationStatus.describe(
    '`enabled`: its event makes contacts enter. Runs that have started continue in any case.',
  ),
  domain_id: z.string().describe('Id of the domain whose contacts enter.'),
  domain: z.string().describe('Name of that domain.'),
  trigger: z.string().nullable().describe('Name of the event that makes contacts enter; null: it has no step yet.'),
  reentry: Reentry.describe(REENTRY),
  purpose: Purpose.describe(PURPOSE),
  version: z
    .int()
    .describe('Version of its steps for contacts that enter now. Runs that have started keep their version.'),
  limited: z.int().describe('How often a contact did not enter because of a limit or of the quota.'),
  created_at: z.date(),
  updated_at: z.date(),
}

/** An automation as GET /automations shows it. */
export const ListedAutomation = z.object(listed).meta({ id: 'ListedAutomation' })
export type ListedAutomation = z.infer<typeof ListedAutomation>

/** Maximum number of runs counted per status. */
export const MAX_COUNT = 10_000
const count = z.int().describe('At most 10,000, even if there are more.')

export const RunCounts = z
  .object({ running: count, completed: count, failed: count, skipped: count })
  .meta({ id: 'AutomationRunCounts' })
export type RunCounts = z.infer<typeof RunCounts>

/** An automation as GET /automations/:id shows it. */
export const Automation = z
  .object({
    ...listed,
    steps: z.array(AutomationStep).describe('Its steps, the trigger first.'),
    connections: z.array(AutomationConnection).describe('How they follow each other.'),
    runs: RunCounts.describe('Its runs by status.'),
  })
  .meta({ id: 'Automation' })
export type Automation = z.infer<typeof Automation>

/** Checked before it was stored (lib/automations/graph.ts). */
const StoredGraph = z.custom<Graph>(value => typeof value === 'object' && value !== null)

/** An automation as it is stored, with the graph of its newest version. */
export const StoredAutomation = ListedAutomation.extend({ graph: StoredGraph })
export type StoredAutomation = z.infer<typeof StoredAutomation>

/** Select lists of queries from `automations a` and its domain `d`; `columns` also of its newest version `v`. */
export const listedColumns = sql.fragment`
  'automation' AS object, a.id, a.name, a.status, a.domain_id, d.name AS domain, a.event AS trigger, a.reentry, a.purpose,
  a.version, a.limited, a.created_at, a.updated_at
`
export const columns = sql.fragment`${listedColumns}, v.graph`

export function showStep({ id, key, type, config }: GraphStep): AutomationStep {
  return { object: 'automation_step', id, key, type, config: config as Record<string, unknown> }
}

export function showAutomation({ graph, ...automation }: StoredAutomation, runs: RunCounts): Automation {
  return { ...automation, steps: graph.steps.map(showStep), connections: listConnections(graph), runs }
}

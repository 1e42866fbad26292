import type { Graph, GraphStep } from '#lib/automations/graph.ts'
import { type Field, fieldsOf, propertyOf, type Rule, type VarRef } from '#lib/automations/rules.ts'
import type { PropertyType } from '#lib/contacts/new_property.ts'
import { ApiError } from '#lib/errors.ts'
import { parseAddress } from '#lib/mail/address.ts'
import {
  lockOwnDomain,
  lockTemplates,
  lockTopicsOrSegments,
  type NamedTemplate,
  type Placed,
  typesOfProperties,
} from '#sql/automations/definitions/references.ts'
import type { Tx } from '#sql/pool.ts'
import { lockSegments } from '#sql/segments/segments.ts'

type Place = { account_id: string; domain_id: string }

/** Templates that the steps of a graph name, and the name of the domain of the automation. */
export type References = { domain: string; templates: Map<string, NamedTemplate> }

/**
 * Checks the templates, segments, topics, contact properties and sender domains that the steps of a graph name, and
 * locks them against deletion until the transaction ends. Returns the graph with templates by their ids.
 *
 * @throws {ApiError} 422 with the key of the first step that names something missing or of another domain
 */
export async function checkReferences(
  tx: Tx,
  { account_id, domain_id }: Place,
  graph: Graph,
): Promise<{ graph: Graph; references: References }> {
  const { steps } = graph
  const domain = await lockOwnDomain(tx, account_id, domain_id)
  if (domain === null) throw new ApiError('validation_error', 'The domain was deleted.')
  // Deletions of segments and properties hold the same lock.
  await lockSegments(tx, account_id)
  const refs = steps.flatMap(step => (step.type === 'send_email' ? (step.config.template?.id ?? []) : []))
  const found = await lockTemplates(tx, account_id, [...new Set(refs)])
  const templates = new Map(
    found.flatMap(one => [one.id, one.alias].flatMap(ref => (ref ? [[ref, one] as const] : []))),
  )
  const topics = await lockTopicsOrSegments(tx, 'topics', account_id, steps.flatMap(topicOf))
  const segments = await lockTopicsOrSegments(tx, 'segments', account_id, steps.flatMap(segmentOf))
  const types = await typesOfProperties(
    tx,
    account_id,
    steps.flatMap(step => propertiesOf(step)),
  )
  for (const step of steps) {
    for (const id of topicOf(step)) requirePlaced(step, 'topic', topics, { id, domain_id })
    for (const id of segmentOf(step)) requirePlaced(step, 'segment', segments, { id, domain_id })
    requireProperties(step, types)
    if (step.type === 'send_email' && step.config.from !== null) requireSenderAt(step, step.config.from, domain)
  }
  return { graph: { steps: steps.map(step => withTemplateId(step, templates)) }, references: { domain, templates } }
}

/** An error that names the step. */
export function stepError({ key }: Pick<GraphStep, 'key'>, message: string): ApiError {
  return new ApiError('validation_error', `Step \`${key}\`: ${message}`)
}

function topicOf(step: GraphStep): string[] {
  return step.type === 'send_email' && step.config.topic_id !== null ? [step.config.topic_id] : []
}

function segmentOf(step: GraphStep): string[] {
  return step.type === 'add_to_segment' || step.type === 'remove_from_segment' ? [step.config.segment_id] : []
}

function requirePlaced(
  step: GraphStep,
  what: string,
  found: Placed[],
  { id, domain_id }: { id: string; domain_id: string },
) {
  const row = found.find(one => one.id === id)
  if (!row) throw stepError(step, `\`config.${what}_id\` must be the id of a ${what}.`)
  if ((row.domain_id ?? domain_id) === domain_id) return
  throw stepError(step, `\`config.${what}_id\` must belong to the domain of the automation.`)
}

function withTemplateId(step: GraphStep, templates: References['templates']): GraphStep {
  if (step.type !== 'send_email' || step.config.template === null) return step
  const { id: ref, variables } = step.config.template
  const template = templates.get(ref)
  if (!template) throw stepError(step, '`config.template.id` must be the id or the alias of a template.')
  return { ...step, config: { ...step.config, template: { id: template.id, variables } } }
}

/** @throws {ApiError} 422 if the sender of a step is not at the domain of the automation */
export function requireSenderAt(step: GraphStep, from: string, domain: string): void {
  if (parseAddress(from)?.domain === domain) return
  throw stepError(step, `Its sender must be at the domain of the automation, ${domain}, not ${from}.`)
}

/** Keys of contact properties that a step reads or writes. */
function propertiesOf(step: GraphStep): string[] {
  const written = step.type === 'contact_update' ? Object.keys(step.config.properties ?? {}) : []
  return [...written, ...readFields(step).flatMap(field => propertyOf(field) ?? [])]
}

function readFields(step: GraphStep): Field[] {
  switch (step.type) {
    case 'condition':
      return fieldsOf(step.config)
    case 'wait_for_event':
      return step.config.filter_rule ? fieldsOf(step.config.filter_rule as Rule) : []
    case 'send_email':
      return varsIn(Object.values(step.config.template?.variables ?? {}))
    case 'contact_update': {
      const { properties, ...fields } = step.config
      return varsIn([...Object.values(fields), ...Object.values(properties ?? {})])
    }
    default:
      return []
  }
}

function varsIn(values: unknown[]): Field[] {
  return values.flatMap(value => (typeof value === 'object' && value !== null ? [(value as VarRef).var] : []))
}

function requireProperties(step: GraphStep, types: Map<string, PropertyType>): void {
  const unknown = propertiesOf(step).find(key => !types.has(key))
  if (unknown !== undefined) throw stepError(step, `The contact property \`${unknown}\` does not exist.`)
  if (step.type !== 'contact_update') return
  for (const [key, value] of Object.entries(step.config.properties ?? {})) {
    if (value === null || typeof value === 'object' || typeof value === types.get(key)) continue
    throw stepError(step, `\`config.properties.${key}\` must be a ${types.get(key)}, the type of the property.`)
  }
}

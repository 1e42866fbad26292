import { connectionsOf } from '#lib/automations/graph.ts'
import type { ConnectionType } from '#lib/automations/new_step.ts'
import type { Automation } from '#sql/automations/definitions/automation_records.ts'
import { type Html, html } from '#web/html.ts'
import { foldedJson } from '#web/layout/parts.ts'
import type { Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'
import { stepWords } from './step_words.ts'

export type Found = Wire<Automation>
export type Step = Found['steps'][number]

/** The steps of an automation as a list. The steps of a branch are a list below it. */
export function stepsHtml(visit: Visit, found: Found): Html {
  const [first] = found.steps
  if (!first) return html`<p>No steps yet.</p>`
  const seen = new Set<string>()
  const nextOf = (key: string, type: ConnectionType) =>
    found.connections.find(one => one.from === key && one.type === type)?.to
  const listFrom = (start: string | undefined): Html => {
    const items: Html[] = []
    for (let at = start; at !== undefined; ) {
      const step = found.steps.find(({ key }) => key === at)
      if (!step) break
      if (seen.has(at)) {
        items.push(html`<li>continues with <strong>${at}</strong></li>`)
        break
      }
      seen.add(at)
      const branches = connectionsOf(step.type).filter(type => type !== 'default')
      items.push(
        html`<li>${stepHtml(visit, found, step)}${branches.map(type => html`<p>${labelOf(type)}: ${addLink(visit, found, step, type)}</p>${listFrom(nextOf(step.key, type))}`)}</li>`,
      )
      at = nextOf(at, 'default')
    }
    return items.length > 0 ? html`<ol>${items}</ol>` : html`<p>The run ends.</p>`
  }
  return html`<div class="steps">${listFrom(first.key)}</div>`
}

function stepHtml(visit: Visit, found: Found, step: Step): Html {
  const { id, key, type, config } = step
  const change = html`<a href="/automations/${found.id}/steps/${id}">Edit<span class="hidden"> ${key}</span></a>`
  return html`<strong>${key}</strong> (${labelOf(type)}) ${visit.mayChange ? change : ''}
${connectionsOf(type).includes('default') ? addLink(visit, found, step, 'default') : ''}${stepWords(visit, step)}${foldedJson(config, `step ${key}`)}`
}

function addLink({ mayChange }: Visit, { id }: Found, { key }: Step, type: ConnectionType): Html {
  if (!mayChange) return html``
  const query = new URLSearchParams({ source: sourceOf(key, type) })
  return html`<a href="/automations/${id}/steps/new?${query}">Add a step<span class="hidden"> after ${sourceLabel(key, type)}</span></a>`
}

/** The possible sources of connections, as options of a select. A source is the key of a step and a type of connection. */
export function sourceOptions({ steps }: Found): [value: string, name: string][] {
  return steps.flatMap(({ key, type }) =>
    connectionsOf(type).map((connectionType): [string, string] => [
      sourceOf(key, connectionType),
      sourceLabel(key, connectionType),
    ]),
  )
}

/** Returns the source of a connection as the value of a select, such as `plan condition_met`. */
export function sourceOf(key: string, type: ConnectionType): string {
  return `${key} ${type}`
}

function sourceLabel(key: string, type: ConnectionType): string {
  return type === 'default' ? key : `${key}, ${labelOf(type)}`
}

export function labelOf(type: string): string {
  return type.replaceAll('_', ' ')
}

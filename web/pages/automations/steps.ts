import { connectionsOf } from '#lib/automations/graph.ts'
import type { ConnectionType } from '#lib/automations/new_step.ts'
import type { Automation } from '#sql/automations/definitions/automation_records.ts'
import { type Html, html } from '#web/html.ts'
import { preformatted } from '#web/layout/parts.ts'
import type { Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

export type Found = Wire<Automation>
export type Step = Found['steps'][number]

/** The steps of an automation as a list, in which what follows a branch stands below it. */
export function stepsOf(visit: Visit, found: Found): Html {
  const [first] = found.steps
  if (!first) return html`<p>It has no steps yet.</p>`
  const seen = new Set<string>()
  const nextOf = (key: string, type: ConnectionType) =>
    found.connections.find(one => one.from === key && one.type === type)?.to
  const from = (start: string | undefined): Html => {
    const items: Html[] = []
    for (let at = start; at !== undefined; ) {
      const step = found.steps.find(({ key }) => key === at)
      if (!step) break
      if (seen.has(at)) {
        items.push(html`<li>goes on with <strong>${at}</strong></li>`)
        break
      }
      seen.add(at)
      const branches = connectionsOf(step.type).filter(type => type !== 'default')
      items.push(
        html`<li>${stepHtml(visit, found, step)}${branches.map(type => html`<p>${wordsOf(type)}: ${addLink(visit, found, step, type)}</p>${from(nextOf(step.key, type))}`)}</li>`,
      )
      at = nextOf(at, 'default')
    }
    return items.length > 0 ? html`<ol>${items}</ol>` : html`<p>The run ends.</p>`
  }
  return html`<div class="steps">${from(first.key)}</div>`
}

function stepHtml(visit: Visit, found: Found, step: Step): Html {
  const { id, key, type, config } = step
  const change = html`<a href="/automations/${found.id}/steps/${id}">Change<span class="hidden"> ${key}</span></a>`
  return html`<strong>${key}</strong> (${wordsOf(type)}) ${visit.mayChange ? change : ''}
${connectionsOf(type).includes('default') ? addLink(visit, found, step, 'default') : ''}${preformatted(JSON.stringify(config, null, 2), `Step ${key}`)}`
}

function addLink({ mayChange }: Visit, { id }: Found, { key }: Step, type: ConnectionType): Html {
  if (!mayChange) return html``
  const query = new URLSearchParams({ way: wayOf(key, type) })
  return html`<a href="/automations/${id}/steps/new?${query}">Add a step<span class="hidden"> after ${nameOf(key, type)}</span></a>`
}

/** The ways out of steps, as options of a select. A way is a key and a type of connections, with a blank between. */
export function waysOf({ steps }: Found): [value: string, name: string][] {
  return steps.flatMap(({ key, type }) =>
    connectionsOf(type).map((way): [string, string] => [wayOf(key, way), nameOf(key, way)]),
  )
}

/** A way out of a step, as the value of a select. */
export function wayOf(key: string, type: ConnectionType): string {
  return `${key} ${type}`
}

function nameOf(key: string, type: ConnectionType): string {
  return type === 'default' ? key : `${key}, ${wordsOf(type)}`
}

export function wordsOf(type: string): string {
  return type.replaceAll('_', ' ')
}

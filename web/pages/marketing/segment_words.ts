import {
  type Condition,
  type Criteria,
  conditionsOf,
  type EngagementEvent,
  type EngagementScope,
  type Rules,
} from '#lib/segments/conditions.ts'
import { type Html, html } from '#web/html.ts'
import { conditionWords, groupWords } from '#web/layout/condition_rows.ts'
import { counted } from '#web/layout/parts.ts'
import { recordLink } from '#web/layout/record_page.ts'
import type { Visit } from '#web/request/visit.ts'
import { FIELDS } from './segment_editor.ts'

/** Says in words which contacts are in a segment. */
export function criteriaWords(visit: Visit, { filter, rules }: Criteria): Html {
  if (filter.status === 'members_only') return html`<p>Only contacts that were added by hand.</p>`
  const conditions = [
    ...conditionsOf(filter).map(({ condition }) => condition),
    ...(rules === null ? [] : 'and' in rules ? rules.and : [rules]),
  ]
  if (conditions.length === 0) return html`<p>All contacts of the domain.</p>`
  const words = conditions.map(one => rulesWords(visit, one))
  return html`<div>A contact is in the segment if ${groupWords('and', words)}</div><p>Contacts that were added by hand are in it too.</p>`
}

function rulesWords(visit: Visit, rules: Rules): Html {
  const wordsOf = (list: Rules[]) => list.map(one => rulesWords(visit, one))
  if ('and' in rules) return groupWords('and', wordsOf(rules.and))
  if ('or' in rules) return groupWords('or', wordsOf(rules.or))
  if ('not' in rules) return groupWords('not', wordsOf([rules.not]))
  return oneInWords(visit, rules)
}

function oneInWords(visit: Visit, condition: Condition): Html {
  const { field, operator } = condition
  if (field === 'topic')
    return html`subscribed to the topic ${recordLink(visit, 'getTopic', '/topics', condition.value)}`
  if (field === 'segment') return html`in the segment ${recordLink(visit, 'getSegment', '/segments', condition.value)}`
  if (field === 'engagement') return engagementWords(visit, condition.operator, condition.value)
  if (operator === 'within_days') return html`created in the last ${counted(condition.value, 'day')}`
  const name = FIELDS.find(([value]) => value === field)?.[1].toLowerCase() ?? field.replace('properties.', 'property ')
  return conditionWords(name, operator, 'value' in condition ? condition.value : undefined)
}

/** With `not_`, contacts are found only if they were sent something. */
function engagementWords(visit: Visit, event: EngagementEvent, scope: EngagementScope): Html {
  const [isNot, verb] = event.startsWith('not_') ? [true, event.slice('not_'.length)] : [false, event]
  if ('campaign_id' in scope) {
    const campaign = recordLink(visit, 'getCampaign', '/campaigns', scope.campaign_id)
    return isNot ? html`got the campaign ${campaign} but has not ${verb} it` : html`${verb} the campaign ${campaign}`
  }
  if ('count' in scope) {
    const times = counted(scope.count, isNot ? 'campaign' : 'time')
    return isNot ? html`got at least ${times} and ${verb} none` : html`${verb} campaigns at least ${times}`
  }
  const days = counted(scope.within_days, 'day')
  return isNot
    ? html`got a campaign in the last ${days} but ${verb} none in that time`
    : html`${verb} a campaign in the last ${days}`
}

import { Recurrence } from '#lib/campaigns/recurrence.ts'
import type { PollForm } from '#lib/polls/new_poll.ts'
import type { Campaign } from '#sql/campaigns/campaign_records.ts'
import { type Field, optionsOf, withValue } from '#web/layout/field.ts'
import type { Form } from '#web/request/form.ts'
import type { Wire } from '#web/request/wire.ts'

type Found = Wire<Campaign>

const ZONES = optionsOf(Intl.supportedValuesOf('timeZone'))

/** The fields about the time, the tracking and the poll of a campaign, and about contacts who are left out. */
export function optionFields(found: Found): Field[] {
  const { recurrence, recurrence_every, timezone, send_in_local_time, poll } = found
  return [
    {
      ...{ name: 'recurrence', label: 'Recurrence', type: 'select', value: recurrence },
      options: [['', 'None'], ...optionsOf(Recurrence.options)],
    },
    {
      ...{ name: 'recurrence_every', label: 'Recurs every', type: 'number', value: numberText(recurrence_every) },
      hint: 'Number of days, weeks or months. Only with a recurrence.',
    },
    {
      ...{ name: 'timezone', label: 'Time zone', type: 'select', value: timezone },
      options: withValue(ZONES, timezone),
      hint: 'Recurring campaigns are sent at the same time of day in this zone.',
    },
    {
      ...{ name: 'send_in_local_time', label: 'Send at the local time of each recipient', type: 'checkbox' },
      value: send_in_local_time,
    },
    {
      ...{ name: 'skip_if_mailed_within_hours', label: 'Skip contacts mailed within', type: 'number' },
      value: numberText(found.skip_if_mailed_within_hours),
      hint: 'Hours since the last campaign they were sent.',
    },
    {
      ...{ name: 'exclude_unengaged_days', label: 'Skip contacts who opened nothing for', type: 'number' },
      value: numberText(found.exclude_unengaged_days),
      hint: 'Days during which they were sent campaigns.',
    },
    trackingField('track_opens', 'Track opens', found.track_opens),
    trackingField('track_clicks', 'Track clicks', found.track_clicks),
    { name: 'poll_question', label: 'Poll question', value: poll?.question },
    {
      ...{ name: 'poll_options', label: 'Poll options', type: 'textarea', rows: 4 },
      value: poll?.options.map(({ label }) => label).join('\n'),
      hint: 'One per line. The poll is inserted in place of {{poll}}, or else at the end.',
    },
  ]
}

function numberText(value: number | null): string | null {
  return value === null ? null : String(value)
}

function trackingField(name: string, label: string, value: boolean | null): Field {
  return {
    ...{ name, label, type: 'select', value: value === null ? null : String(value) },
    options: [
      ['', 'as the domain says'],
      ['true', 'yes'],
      ['false', 'no'],
    ],
  }
}

/** Reads these fields. */
export function readOptions(form: Form, stored: PollForm | null) {
  const recurrence = form.textOrNull('recurrence')
  const number = (name: string) => form.propertyValue(name, 'number')
  return {
    ...{ recurrence, recurrence_every: recurrence && number('recurrence_every') },
    ...{ timezone: form.text('timezone'), send_in_local_time: form.has('send_in_local_time') },
    skip_if_mailed_within_hours: number('skip_if_mailed_within_hours'),
    exclude_unengaged_days: number('exclude_unengaged_days'),
    ...{ track_opens: readTracking(form, 'track_opens'), track_clicks: readTracking(form, 'track_clicks') },
    poll: readPoll(form, stored),
  }
}

function readTracking(form: Form, name: string): boolean | null {
  const value = form.text(name)
  return value === '' ? null : value === 'true'
}

/** Reads the poll; null for none. Options keep their keys, which links in the content may name. */
function readPoll(form: Form, stored: PollForm | null) {
  const question = form.text('poll_question')
  const labels = form.lines('poll_options')
  if (question === '' && labels.length === 0) return null
  return { question, options: labels.map(label => stored?.options.find(one => one.label === label) ?? label) }
}

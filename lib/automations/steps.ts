import { z } from 'zod'
import { contactFields } from '#lib/contacts/new_contact.ts'
import { PropertyValue } from '#lib/contacts/new_property.ts'
import { EventName } from '#lib/events/new_definition.ts'
import { withTwins } from '#lib/json/camel_case_twins.ts'
import { formatAddress } from '#lib/mail/address.ts'
import { addresses, From, ShownSubject } from '#lib/mail/mail_fields.ts'
import { NewPoll } from '#lib/polls/new_poll.ts'
import { MAX_PART } from '#lib/templates/render.ts'
import { TemplateRef, VariableValue, variablesOf } from '#lib/templates/variables.ts'
import { counted, record, refuseMissing } from '#lib/zod_fields.ts'
import { DelayConfig } from './delays.ts'
import { Duration } from './durations.ts'
import { ConditionRule, EventRule, Var } from './rules.ts'

const MAX_PROPERTIES = 100

const Id = z.guid().toLowerCase()
const emptyIsNull = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess(value => (value === '' ? null : value), schema)
const orNull = <Value>(value: Value | null | undefined): Value | null => value ?? null

const TriggerConfig = withTwins(
  z.object({ event_name: EventName.describe('Name of the event that makes contacts enter.') }),
).meta({ id: 'TriggerStepConfig' })

/** Booleans become strings, since variables cannot be booleans. */
const TemplateValue = z.union([VariableValue, z.boolean().transform(String), Var], {
  error: 'must be a string of at most 2,000 characters, a number, or an object such as `{"var": "event.plan"}`',
})

const Template = z
  .object({
    id: TemplateRef.describe('Id or alias of the template, published when the automation is enabled.'),
    variables: variablesOf(TemplateValue)
      .transform(variables => variables ?? {})
      .describe('Values of variables by key; `{"var": "event.plan"}` takes one from the event or the contact.'),
  })
  .meta({ id: 'AutomationTemplate' })

const part = emptyIsNull(z.string().max(MAX_PART).nullish())

const SendEmailConfig = withTwins(
  z
    .object({
      template: Template.nullish().transform(orNull).describe('Template to send. Excludes `html` and `text`.'),
      from: emptyIsNull(From.nullish())
        .transform(from => (from ? formatAddress(from) : null))
        .describe('Sender: `email@domain` or `Name <email@domain>`. Default: that of the template.'),
      subject: emptyIsNull(ShownSubject.nullish())
        .transform(orNull)
        .describe('One line of up to 998 characters; may have placeholders. Default: that of the template.'),
      reply_to: emptyIsNull(addresses('validation_error').nullish())
        .transform(list => (list ?? []).map(formatAddress))
        .describe('Up to 50 addresses that replies go to. Default: those of the template.'),
      topic_id: Id.nullish()
        .transform(orNull)
        .describe('Id of a topic: contacts who are not subscribed to it do not get the email.'),
      html: part.transform(orNull).describe('HTML part, with placeholders.'),
      text: z
        .string()
        .max(MAX_PART)
        .nullish()
        .transform(orNull)
        .describe('Plain-text part. Default: derived from `html`. An empty string: no plain-text part.'),
      poll: NewPoll.nullish()
        .transform(orNull)
        .describe(
          'A question to its recipients, in place of `{{poll}}` or at the end. `{{poll_url:<key>}}` is the link of an option.',
        ),
    })
    .superRefine(({ template, ...given }, context) => {
      for (const name of ['html', 'text'] as const) {
        if (template === null || given[name] === null) continue
        context.addIssue({ code: 'custom', path: [name], message: 'cannot be combined with `template`' })
      }
    }),
).meta({ id: 'SendEmailStepConfig' })

const WaitForEventConfig = withTwins(
  z.object({
    event_name: EventName.describe('Name of the event that is waited for.'),
    timeout: Duration.nullish()
      .transform(orNull)
      .describe('How long to wait, such as `1 day`, up to a year. Default: without end.'),
    filter_rule: EventRule.nullish()
      .transform(orNull)
      .describe('What must hold for the event. Its fields are `event.<key>`.'),
  }),
).meta({ id: 'WaitForEventStepConfig' })

const orVar = <Schema extends z.ZodType<unknown>>(schema: Schema, message: string) =>
  z.union([schema, Var], `${message}, or an object such as \`{"var": "event.plan"}\``)
const NameOrVar = orVar(
  contactFields.first_name.unwrap().unwrap().nullable(),
  'must be one line of up to 255 characters',
)
const PropertyOrVar = orVar(PropertyValue.nullable(), 'must be a string of at most 2,000 characters, a number or null')

const ContactUpdateConfig = withTwins(
  z
    .object({
      first_name: NameOrVar.optional().describe('One line of up to 255 characters. Null clears it.'),
      last_name: NameOrVar.optional().describe('One line of up to 255 characters. Null clears it.'),
      unsubscribed: orVar(z.boolean(), 'must be `true` or `false`')
        .optional()
        .describe('`true` opts the contact out; `false` undoes that.'),
      properties: counted(0, MAX_PROPERTIES, 'properties', record(PropertyOrVar))
        .optional()
        .describe('Values by the keys of contact properties. A value of null removes it.'),
    })
    .superRefine((change, context) => {
      if (Object.values(change).some(value => value !== undefined)) return
      refuseMissing(context, ['first_name', 'last_name', 'unsubscribed', 'properties'])
    }),
).meta({ id: 'ContactUpdateStepConfig' })

const SegmentConfig = withTwins(z.object({ segment_id: Id.describe('Id of a segment of the domain.') })).meta({
  id: 'SegmentStepConfig',
})

/** The configuration of each type of step. The output has all defaults filled in, and is stored so. */
export const CONFIGS = {
  trigger: TriggerConfig,
  send_email: SendEmailConfig,
  delay: DelayConfig,
  wait_for_event: WaitForEventConfig,
  condition: ConditionRule,
  contact_update: ContactUpdateConfig,
  contact_delete: z.object({}),
  add_to_segment: SegmentConfig,
  remove_from_segment: SegmentConfig,
}
export type StepType = keyof typeof CONFIGS
/** The configuration of a step of a type, as it is stored. */
export type ConfigOf<Type extends StepType> = z.output<(typeof CONFIGS)[Type]>

import { z } from 'zod'
import { ApiError } from '#lib/errors.ts'
import { isUuid } from '#lib/ids.ts'
import { withTwins } from '#lib/json/camel_case_twins.ts'
import { parse } from '#lib/json/parse.ts'
import { orList } from '#lib/json/requirements.ts'
import { refuseWhole } from '#lib/zod_fields.ts'
import { CONFIGS, type ConfigOf, type StepType } from './steps.ts'

export const MAX_STEPS = 150

/** Names of steps in other services. */
const ALIASES: Record<string, StepType> = { wait: 'delay', branch: 'condition', update_contact: 'contact_update' }
const TYPES = Object.keys(CONFIGS) as [StepType, ...StepType[]]

export const StepTypeName = z.enum(TYPES)

/** Must not have the form of an id: paths name a step by its id or its key. */
const Key = z
  .string()
  .regex(/^[\w.-]{1,100}$/, 'must be 1 to 100 letters, digits, `_`, `-` or `.`')
  .refine(key => !isUuid(key), 'must not look like an id')
  .describe('Unique in the automation: 1 to 100 letters, digits, `_`, `-` or `.`.')

const stepOf = <Type extends StepType>(type: Type) =>
  z
    .object({
      key: Key,
      type: z.literal(type).describe('Type of the step.'),
      config: CONFIGS[type].describe('What the step does.'),
    })
    .meta({ id: `${type.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())}Step` })

/** A step by its type, with the configuration as it is stored. */
export type Step = { [Type in StepType]: { key: string; type: Type; config: ConfigOf<Type> } }[StepType]

const AnyStep = z.discriminatedUnion(
  'type',
  [
    stepOf('trigger'),
    stepOf('send_email'),
    stepOf('delay'),
    stepOf('wait_for_event'),
    stepOf('condition'),
    stepOf('contact_update'),
    stepOf('contact_delete'),
    stepOf('add_to_segment'),
    stepOf('remove_from_segment'),
  ],
  `must be ${orList(TYPES)}`,
) as unknown as z.ZodType<Step>

/** A step of an automation. Errors about it name its key. */
export const NewStep = z.preprocess((value, context) => {
  const step = readStep(value)
  if (step === null) return value
  try {
    parse(AnyStep, step)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return refuseWhole(context, error.name, `Step \`${step.key}\`: ${error.message}`)
  }
  return step
}, AnyStep)

/**
 * Replaces an alias of a type with its name, and a missing configuration with an empty one. Returns null if there is no valid key
 * to name the step by in errors.
 */
function readStep(value: unknown): { key: unknown; type: unknown; config: unknown } | null {
  if (typeof value !== 'object' || value === null) return null
  const { key, type, config } = value as Record<string, unknown>
  if (!Key.safeParse(key).success) return null
  const is_alias = typeof type === 'string' && Object.hasOwn(ALIASES, type)
  return { key, type: is_alias ? ALIASES[type] : type, config: config ?? {} }
}

export const ConnectionType = z.enum(['default', 'condition_met', 'condition_not_met', 'event_received', 'timeout'])
export type ConnectionType = z.infer<typeof ConnectionType>

export const NewConnection = z
  .object({
    from: z.string().describe('Key of the step at which it begins.'),
    to: z.string().describe('Key of the step that it leads to.'),
    type: ConnectionType.nullish()
      .transform(type => type ?? 'default')
      .describe(
        '`condition_met` and `condition_not_met` of a condition; `event_received` and `timeout` of `wait_for_event`; `default` of all others.',
      ),
  })
  .meta({ id: 'NewAutomationConnection' })
export type Connection = z.output<typeof NewConnection>

const type = z.enum([...TYPES, ...Object.keys(ALIASES)] as [string, ...string[]])
const config = z.record(z.string(), z.unknown()).nullish().describe('What the step does, by its type.')

/** The body of POST /automations/:id/steps. Its type and configuration are checked as a `NewStep`. */
export const AddedStep = withTwins(
  z.object({
    key: Key.nullish().describe('Unique in the automation. Default: `step_` and a number.'),
    type: type.describe('Type of the step.'),
    config,
    after: z
      .string()
      .nullish()
      .describe('Key or id of the step that it follows. Default: the last step along the `default` connections.'),
    connection_type: ConnectionType.nullish().describe('Type of the connection from that step. Default: `default`.'),
  }),
).meta({ id: 'NewAutomationStep' })
export type AddedStep = z.output<typeof AddedStep>

/** The body of PATCH /automations/:id/steps/:step_id. */
export const StepChange = z
  .object({
    key: z.string().optional().describe('Cannot be changed: the key that it has.'),
    type: type.optional().describe('Type of the step. Default: as it is. With another one, give its `config`.'),
    config: config.describe('The whole configuration. Default: as it is.'),
  })
  .meta({ id: 'AutomationStepChange' })
export type StepChange = z.output<typeof StepChange>

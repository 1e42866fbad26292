import { z } from 'zod'
import { EventName } from '#lib/events/new_definition.ts'
import { withTwins } from '#lib/json/camel_case_twins.ts'
import { counted, TEXT_LINE } from '#lib/zod_fields.ts'
import { MAX_STEPS, NewConnection, NewStep } from './new_step.ts'

/** Each step has at most two. */
const MAX_CONNECTIONS = 2 * MAX_STEPS

export const AutomationStatus = z.enum(['enabled', 'disabled'])
export type AutomationStatus = z.infer<typeof AutomationStatus>

export const Reentry = z.enum(['always', 'while_not_running', 'once'])
export type Reentry = z.infer<typeof Reentry>

export const Purpose = z.enum(['marketing', 'transactional'])
export type Purpose = z.infer<typeof Purpose>

export const REENTRY =
  '`always`: each event starts a run. `while_not_running`: not while the contact has one. `once`: one run per contact, ever.'
export const PURPOSE =
  '`transactional`: its emails also go to contacts that have unsubscribed, but never to suppressed addresses.'

/** In characters. */
export const MAX_NAME = 255
const Name = z
  .string()
  .min(1)
  .max(MAX_NAME)
  .regex(TEXT_LINE, 'must be one line of text')
  .describe('Name for people: one line of 1 to 255 characters.')
const steps = counted(0, MAX_STEPS, 'steps', z.array(NewStep))
const connections = counted(0, MAX_CONNECTIONS, 'connections', z.array(NewConnection))

const STATUS =
  '`enabled`: contacts enter from now on. `disabled`: no contacts enter, and runs that have started continue.'
const TRIGGER =
  'Name of the event that makes contacts enter, in place of a step of type `trigger`; that step gets the key `trigger`.'
const trigger = EventName.nullish().describe(TRIGGER)

/** The body of POST /automations. Checks its shape, and each step separately. */
export const NewAutomation = withTwins(
  z.object({
    name: Name,
    status: AutomationStatus.nullish().describe(`${STATUS} Default: \`disabled\`.`),
    reentry: Reentry.nullish().describe(`${REENTRY} Default: \`always\`.`),
    purpose: Purpose.nullish().describe(`${PURPOSE} Default: \`marketing\`.`),
    domain: z
      .string()
      .nullish()
      .describe(
        'Name or id of the domain whose contacts enter. Default: that of the API key, or the only one of the account.',
      ),
    trigger,
    steps: steps.nullish().describe('Up to 150 steps.'),
    connections: connections.nullish().describe('How steps follow each other. Default: in the order of the list.'),
  }),
).meta({ id: 'NewAutomation' })
export type NewAutomation = z.output<typeof NewAutomation>

/** The body of PATCH /automations/:id. Fields that are left out stay as they are. */
export const AutomationChange = withTwins(
  z
    .object({
      name: Name.optional(),
      status: AutomationStatus.nullish().describe(STATUS),
      reentry: Reentry.nullish().describe(REENTRY),
      purpose: Purpose.nullish().describe(PURPOSE),
      domain: z.string().nullish().describe('Name or id of another domain, while it is disabled.'),
      trigger,
      steps: steps.nullish().describe('All steps. A step keeps its id if it keeps its key.'),
      connections: connections.nullish().describe('All connections. They must be given with `steps`.'),
    })
    .refine(({ steps, connections }) => !steps || connections, {
      path: ['connections'],
      error: 'must be given with `steps`',
    }),
).meta({ id: 'AutomationChange' })
export type AutomationChange = z.output<typeof AutomationChange>

/** The body of POST /automations/:id/duplicate, which may be left out. */
export const AutomationCopy = z
  .object({
    name: Name.nullish().describe('Name of the copy. Default: `Copy of` and the name of the original.'),
  })
  .nullish()
  .meta({ id: 'AutomationCopy' })

import { z } from 'zod'
import { outgoing } from '#lib/config/outgoing.ts'
import { receiving, verdicts } from '#lib/config/receiving.ts'
import { connections, sending } from '#lib/config/sending.ts'
import { limits, server, storage } from '#lib/config/server.ts'

/** An environment variable. `value`: its default; empty if it has none. `unset`: what applies if it is not set. */
export type Variable = { name: string; description: string; value: string; unset: string | null }

type Section = { title: string; about?: string; variables: Variable[] }

const MAX_PORT = 65_535

/** All variables under the headings of docs/configuration.md. */
export const sections: Section[] = [
  { title: 'Server and database', variables: variablesOf(server) },
  {
    title: 'Sending',
    about: 'See [sending](sending.md), and [direct delivery](direct.md) for sending without a relay.',
    variables: variablesOf(sending),
  },
  { title: 'Connections to mail servers', variables: variablesOf(connections) },
  { title: 'Receiving', about: 'See [receiving](receiving.md).', variables: variablesOf(receiving) },
  { title: 'Verdicts on received mail', variables: variablesOf(verdicts) },
  { title: 'Limits', variables: variablesOf(limits) },
  { title: 'Storage and retention', variables: variablesOf(storage) },
  {
    title: 'DNS and HTTP requests to other servers',
    about:
      'Attachments can be given by URL, webhooks are URLs, and DNS records can be written at the provider of a domain.',
    variables: variablesOf(outgoing),
  },
]

function variablesOf(shape: Record<string, z.ZodType>): Variable[] {
  return Object.entries(shape).map(([name, schema]) => {
    const { description = '', unset, range = rangeOf(schema) } = schema.meta() ?? {}
    const text = [description, range].filter(Boolean).join(' ')
    if (typeof unset === 'string') return { name, description: text, value: '', unset }
    return { name, description: text, value: String(schema.parse(undefined)), unset: null }
  })
}

function rangeOf(schema: z.ZodType): string {
  const json = z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any' })
  const { type, minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = json
  if (maximum === Number.MAX_SAFE_INTEGER || maximum === MAX_PORT) return ''
  return `${type === 'integer' ? 'An integer' : 'A number'} from ${minimum} to ${maximum.toLocaleString('en')}.`
}

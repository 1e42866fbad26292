import { XMLParser } from 'fast-xml-parser'
import { z } from 'zod'
import type { ProviderAnswer } from './ask.ts'
import { ProviderError } from './provider_error.ts'

const parser = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: '',
  parseAttributeValue: false,
  parseTagValue: false,
  trimValues: false,
  htmlEntities: true, // for numeric entities
  transformTagName: name => (name === 'Host' ? 'host' : name), // both are documented
  isArray: name => name === 'host' || name === 'Error',
})

const Failure = z.object({
  ApiResponse: z.object({
    Errors: z.object({ Error: z.array(z.union([z.string(), z.object({ '#text': z.string() })])) }),
  }),
})

const Host = z.object({
  Name: z.string(),
  Type: z.string(),
  Address: z.string(),
  MXPref: z.string().optional(),
  TTL: z.string().optional(),
})
/** A record in Namecheap's form. */
export type Host = z.infer<typeof Host>

const answered = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.object({ ApiResponse: z.object({ Status: z.literal('OK'), CommandResponse: z.object(shape) }) })

const Hosts = answered({
  DomainDNSGetHostsResult: z
    .object({
      Domain: z.string(),
      EmailType: z.string().default(''),
      IsUsingOurDNS: z.string(),
      host: z.array(Host).default([]),
    })
    .catchall(z.string()), // attributes, but no other elements
})

const Saved = answered({ DomainDNSSetHostsResult: z.object({ IsSuccess: z.string() }) })

/**
 * Parses all records of a zone. Anything that is not fully understood is rejected, since it would be lost when the records are
 * written back.
 *
 * @throws {ProviderError}
 */
export function readHosts(answer: ProviderAnswer, zone: string): { email_type: string; hosts: Host[] } {
  const { DomainDNSGetHostsResult: found } = read(Hosts, answer).ApiResponse.CommandResponse
  if (found.Domain.toLowerCase() !== zone) throw new ProviderError(`Namecheap responded for ${found.Domain}.`)
  if (found.IsUsingOurDNS.toLowerCase() !== 'true') {
    throw new ProviderError(`The name servers of ${zone} are not those of Namecheap.`)
  }
  return { email_type: found.EmailType.toUpperCase(), hosts: found.host }
}

/** @throws {ProviderError} if nothing was changed */
export function readSaved(answer: ProviderAnswer): void {
  const { DomainDNSSetHostsResult: saved } = read(Saved, answer).ApiResponse.CommandResponse
  if (saved.IsSuccess.toLowerCase() !== 'true') throw new ProviderError('Namecheap: the records were not changed.')
}

function read<Schema extends z.ZodType>(schema: Schema, { status, text }: ProviderAnswer): z.output<Schema> {
  const parsed = schema.safeParse(parseXml(text))
  if (parsed.success) return parsed.data
  const failure = Failure.safeParse(parseXml(text))
  if (!failure.success)
    throw new ProviderError(`Namecheap: it responded with ${status} and something that could not be read`)
  const words = failure.data.ApiResponse.Errors.Error.map(error => (typeof error === 'string' ? error : error['#text']))
  throw new ProviderError(`Namecheap: ${words.join('; ')}`)
}

function parseXml(text: string): unknown {
  try {
    return parser.parse(text, true)
  } catch {
    return undefined // a proxy's page: the status says enough
  }
}

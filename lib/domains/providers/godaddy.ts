import { z } from 'zod'
import type { DomainRecord } from '#lib/domains/domain_records.ts'
import { unquoteText } from '#lib/domains/export/quote.ts'
import { tryParseJson } from '#lib/json/try_parse_json.ts'
import { registrableDomain } from '#lib/net/domain_name.ts'
import type { ProviderAnswer, ProviderClient } from './ask.ts'
import type { ZoneRecord } from './plan.ts'
import { ProviderError } from './provider_error.ts'
import { hostIn, nameIn, type ProviderZone, plainName } from './zone.ts'

const Secret = z.string().regex(/^[\x21-\x39\x3b-\x7e]{8,1000}$/, 'must be a GoDaddy API key or secret')

export const GodaddyCredentials = z
  .object({ key: Secret.describe('API key.'), secret: Secret.describe('Secret of the key.') })
  .meta({ id: 'GodaddyCredentials' })
export type GodaddyCredentials = z.infer<typeof GodaddyCredentials>

const Refusal = z.object({
  message: z.string(),
  fields: z.array(z.object({ message: z.string(), path: z.string().optional() })).optional(),
})

/** Keeps other members of a record, which are written back unchanged. */
const Records = z.array(z.looseObject({ type: z.string(), name: z.string(), data: z.string() }))

/** In seconds; GoDaddy accepts no less than 600. */
const TTL = 3600

/** Types of records that conflict with a record, or may be that record. */
const TYPES: Record<DomainRecord['type'], string[]> = {
  TXT: ['TXT', 'CNAME'],
  MX: ['MX', 'CNAME'],
  CNAME: ['CNAME', 'A', 'AAAA', 'TXT', 'MX'],
}

/** Opens the zone of the registered domain (https://developer.godaddy.com/doc/endpoint/domains). */
export function openGodaddy(ask: ProviderClient, { key, secret }: GodaddyCredentials, domain: string): ProviderZone {
  const zone = registrableDomain(domain) ?? domain
  const records = `/domains/${zone}/records`
  const call = async <Schema extends z.ZodType>(
    schema: Schema,
    path: string,
    method?: 'PUT' | 'PATCH',
    body?: object,
  ) => {
    const headers = { authorization: `sso-key ${key}:${secret}`, 'content-type': 'application/json' }
    return read(schema, await ask(path, { headers, ...(method ? { method, body: JSON.stringify(body) } : {}) }))
  }
  const pathOf = (type: string, name: string) => `${records}/${type}/${encodeURIComponent(hostIn(zone, name))}`

  return {
    list: async ({ type, name }) => {
      const found = await Promise.all(TYPES[type].map(type => call(Records, pathOf(type, name))))
      return found.flat().map(record => zoneRecord(zone, record))
    },
    // PATCH adds records; PUT replaces all records of one type and name.
    add: async wanted => {
      await call(z.unknown(), records, 'PATCH', [newRecord(zone, wanted)])
    },
    replace: async ({ type, name, value: old }, value) => {
      const path = pathOf(type, name)
      const found = await call(Records, path)
      if (!found.some(record => unquoteText(record.data) === old)) {
        throw new ProviderError('GoDaddy: the record was changed meanwhile')
      }
      const changed = found.map(({ type, name, ...record }) => ({
        ...record,
        data: unquoteText(record.data) === old ? value : record.data,
      }))
      await call(z.unknown(), path, 'PUT', changed)
    },
  }
}

function zoneRecord(zone: string, { type, name, data }: z.infer<typeof Records>[number]): ZoneRecord {
  const value = type === 'TXT' ? unquoteText(data) : data === '@' ? zone : plainName(data)
  return { type, name: nameIn(zone, name), value }
}

function newRecord(zone: string, { type, name, value, priority }: DomainRecord): object {
  const record = { type, name: hostIn(zone, name), data: value, ttl: TTL }
  return type === 'MX' ? { ...record, priority } : record
}

function read<Schema extends z.ZodType>(schema: Schema, { status, text }: ProviderAnswer): z.output<Schema> {
  const is_good = status >= 200 && status < 300
  const json = tryParseJson(text)
  const parsed = schema.safeParse(json)
  if (is_good && parsed.success) return parsed.data
  const refusal = Refusal.safeParse(json)
  if (!refusal.success) throw new ProviderError(`GoDaddy: it responded with ${status}`)
  const { message, fields = [] } = refusal.data
  throw new ProviderError(`GoDaddy: ${[message, ...fields.map(field => field.message)].join('; ')}`)
}

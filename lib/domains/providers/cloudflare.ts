import { z } from 'zod'
import type { DomainRecord } from '#lib/domains/domain_records.ts'
import { quoteText, unquoteText } from '#lib/domains/export/quote.ts'
import { tryParseJson } from '#lib/json/try_parse_json.ts'
import { listZones } from '#lib/net/domain_name.ts'
import type { ProviderAnswer, ProviderClient } from './ask.ts'
import type { ZoneRecord } from './plan.ts'
import { ProviderError } from './provider_error.ts'
import { type ProviderZone, plainName } from './zone.ts'

/** An API token with the permission to edit the DNS of the zone. */
export const CloudflareCredentials = z
  .object({
    token: z
      .string()
      .regex(/^[\x21-\x7e]{8,1000}$/, 'must be a Cloudflare API token')
      .describe('API token that may edit the DNS of the zone.'),
  })
  .meta({ id: 'CloudflareCredentials' })
export type CloudflareCredentials = z.infer<typeof CloudflareCredentials>

const Refusal = z.object({ errors: z.array(z.object({ message: z.string() })).min(1) })
const Zones = z.object({ result: z.array(z.object({ id: z.string() })) })
const Records = z.object({
  result: z.array(z.object({ id: z.string(), type: z.string(), name: z.string(), content: z.string() })),
})

/** Per name. No name has this many. */
const MAX_RECORDS = 100

/** In seconds; Cloudflare calls 1 automatic. */
const TTL = 1

/** Opens a zone (https://developers.cloudflare.com/api/resources/dns/subresources/records/). @throws {ProviderError} */
export async function openCloudflare(
  ask: ProviderClient,
  { token }: CloudflareCredentials,
  domain: string,
): Promise<ProviderZone> {
  const call = async <Schema extends z.ZodType>(
    schema: Schema,
    path: string,
    method?: 'POST' | 'PATCH',
    body?: object,
  ) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const sent = method ? { method, body: JSON.stringify(body) } : {}
    return read(schema, await ask(path, { headers, ...sent }))
  }
  const records = `/zones/${await findZone(path => call(Zones, path), domain)}/dns_records`

  return {
    list: async ({ name }) => {
      const query = new URLSearchParams({ name, per_page: String(MAX_RECORDS) })
      const { result } = await call(Records, `${records}?${query}`)
      return result.filter(record => plainName(record.name) === name).map(zoneRecord)
    },
    add: async wanted => {
      await call(z.unknown(), records, 'POST', newRecord(wanted))
    },
    replace: async (found, value) => {
      const { id } = found as FoundRecord
      await call(z.unknown(), `${records}/${encodeURIComponent(id)}`, 'PATCH', { content: quoteText(value) })
    },
  }
}

async function findZone(list: (path: string) => Promise<z.infer<typeof Zones>>, domain: string): Promise<string> {
  for (const name of listZones(domain)) {
    const [zone] = (await list(`/zones?${new URLSearchParams({ name })}`)).result
    if (zone) return encodeURIComponent(zone.id)
  }
  throw new ProviderError(`Cloudflare has no zone for ${domain} that this token may see.`)
}

type FoundRecord = ZoneRecord & { id: string }

function zoneRecord({ id, type, name, content }: z.infer<typeof Records>['result'][number]): FoundRecord {
  return { id, type, name: plainName(name), value: type === 'TXT' ? unquoteText(content) : plainName(content) }
}

/** Not proxied: DNS would return addresses of Cloudflare in place of the CNAME. */
function newRecord({ type, name, value, priority }: DomainRecord): object {
  const record = { type, name, ttl: TTL, content: type === 'TXT' ? quoteText(value) : value }
  if (type === 'MX') return { ...record, priority }
  return type === 'CNAME' ? { ...record, proxied: false } : record
}

function read<Schema extends z.ZodType>(schema: Schema, { status, text }: ProviderAnswer): z.output<Schema> {
  const json = tryParseJson(text)
  const parsed = schema.safeParse(json)
  if (status >= 200 && status < 300 && parsed.success) return parsed.data
  const refusal = Refusal.safeParse(json)
  const words = refusal.success
    ? refusal.data.errors.map(({ message }) => message).join('; ')
    : `it responded with ${status}`
  throw new ProviderError(`Cloudflare: ${words}`)
}

import { z } from 'zod'
import type { DomainRecord } from '#lib/domains/domain_records.ts'
import { csvOf } from './csv.ts'
import { zoneOf } from './zone.ts'

export const EXPORT_FORMATS = ['zone', 'csv', 'json'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]

export const ExportedRecords = z.object({
  filename: z.string().describe('Name for the file.'),
  content_type: z.string().describe('MIME type of the file.'),
  content: z.string().describe('The file.'),
})
export type ExportedRecords = z.infer<typeof ExportedRecords>

/** In seconds. Forms of DNS providers offer "Auto", which a file cannot express. */
const TTL = 3600

const CONTENT_TYPES: Record<ExportFormat, string> = { zone: 'text/dns', csv: 'text/csv', json: 'application/json' }

/** Returns the records of a domain as a file to import at its DNS provider. */
export function exportRecords(
  domain: { name: string },
  records: DomainRecord[],
  format: ExportFormat,
): ExportedRecords {
  return {
    filename: `${domain.name}.${format}`,
    content_type: CONTENT_TYPES[format],
    content: contentOf(domain.name, records, format),
  }
}

function contentOf(name: string, records: DomainRecord[], format: ExportFormat): string {
  if (format === 'zone') return zoneOf(name, records, TTL)
  return format === 'csv' ? csvOf(records, TTL) : jsonOf(records)
}

function jsonOf(records: DomainRecord[]): string {
  const rows = records.map(({ type, name, value, priority }) => ({
    ...{ type, name, value, ttl: TTL },
    ...(priority === undefined ? {} : { priority }),
  }))
  return `${JSON.stringify(rows, null, 2)}\n`
}

import { z } from 'zod'
import { type DomainRecord, nameInZone } from '#lib/domains/domain_records.ts'
import { planRecord, type Step } from './plan.ts'
import { ProviderError } from './provider_error.ts'
import type { ProviderZone } from './zone.ts'

/** A record by its name at the DNS provider. */
const RecordName = z.object({
  type: z.string().describe('`TXT`, `MX` or `CNAME`.'),
  name: z.string().describe('Name within the zone.'),
})
const UnwrittenRecord = RecordName.extend({ message: z.string().describe('Why it was not written.') })

/** The result per record: written, skipped, or refused by the provider. */
export const Applied = z.object({
  applied: z.array(RecordName).describe('Records that were written.'),
  skipped: z.array(UnwrittenRecord).describe('Records that already exist, or that conflict with another record.'),
  failed: z.array(UnwrittenRecord).describe('Records that the provider refused.'),
})
export type Applied = z.infer<typeof Applied>

/**
 * Adds missing records to a zone. A second call changes nothing.
 *
 * @throws {ProviderError} if the zone cannot be read, or every record was refused
 */
export async function applyRecords(zone: ProviderZone, records: DomainRecord[]): Promise<Applied> {
  const outcome: Applied = { applied: [], skipped: [], failed: [] }
  const planned = await Promise.all(records.map(async record => ({ record, step: await plan(zone, record) })))
  for (const { record, step } of planned) {
    const named = { type: record.type, name: nameInZone(record.name) }
    if (step.act === 'skip') {
      outcome.skipped.push({ ...named, message: step.message })
      continue
    }
    const message = await refusalOf(() => write(zone, record, step))
    if (message === null) outcome.applied.push(named)
    else outcome.failed.push({ ...named, message })
  }
  await save(zone, outcome)
  const [first] = outcome.failed
  if (first && outcome.failed.length === records.length) throw new ProviderError(first.message)
  return outcome
}

async function plan(zone: ProviderZone, record: DomainRecord): Promise<Step> {
  const step = planRecord(record, await zone.list(record))
  const message = step.act === 'skip' ? null : (zone.whyNot?.(record) ?? null)
  return message === null ? step : { act: 'skip', message }
}

async function write(zone: ProviderZone, record: DomainRecord, step: Exclude<Step, { act: 'skip' }>): Promise<void> {
  if (step.act === 'add') await zone.add(record)
  else await zone.replace(step.found, step.value)
}

async function save(zone: ProviderZone, outcome: Applied): Promise<void> {
  if (!zone.save || outcome.applied.length === 0) return
  const message = await refusalOf(zone.save)
  if (message === null) return
  outcome.failed.push(...outcome.applied.splice(0).map(named => ({ ...named, message })))
}

async function refusalOf(act: () => Promise<void>): Promise<string | null> {
  try {
    await act()
    return null
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    return error.message
  }
}

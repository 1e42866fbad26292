import type { Dns } from '#lib/net/dns.ts'
import { type Check, checkRecord } from './check_record.ts'
import type { DomainRecord } from './domain_records.ts'
import type { RecordState, RecordStates } from './domain_status.ts'

export type CheckedRecord = { record: DomainRecord; check: Check }

/** Checks all records concurrently, so that it takes no longer than the slowest response. */
export async function checkRecords(dns: Dns, records: DomainRecord[]): Promise<CheckedRecord[]> {
  return Promise.all(records.map(async record => ({ record, check: await checkRecord(dns, record) })))
}

/** Summarizes the checks of a domain by the purpose of the records. A domain that does not send must receive. */
export function recordStatesOf(checked: CheckedRecord[]): RecordStates {
  const sends = checked.some(({ record }) => record.purpose === 'sending')
  const isRequired = ({ record }: CheckedRecord) =>
    sends ? record.purpose === 'sending' : record.record === 'Receiving'
  const isFeature = (one: CheckedRecord) => one.record.purpose === 'feature' && !isRequired(one)
  const return_path = checked.filter(({ record }) => record.record === 'SPF' && record.type === 'MX')
  return {
    required: recordState(checked.filter(isRequired)),
    features: recordState(checked.filter(isFeature)),
    return_path: return_path.length > 0 ? recordState(return_path) : null,
  }
}

/** One record that is certainly missing decides. */
function recordState(checked: CheckedRecord[]): RecordState {
  const statuses = checked.map(({ check }) => check.status)
  if (statuses.some(status => status === 'missing' || status === 'failed')) return 'gone'
  return statuses.includes('temporary_failure') ? 'unknown' : 'ok'
}

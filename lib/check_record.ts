import type { Answer, Dns } from './dns.ts'
import type { DomainRecord } from './domain_records.ts'

/** What DNS says of a record that is to be there. `problem` says what to mend. */
export type Check = { status: 'verified' | 'failed' | 'temporary_failure'; problem: string | null }

/** Asks DNS for one record. */
export async function checkRecord(dns: Dns, record: DomainRecord): Promise<Check> {
  switch (record.type) {
    case 'TXT':
      return judge(await dns.txt(record.name), texts => whyNotText(record, texts))
    case 'MX':
      return judge(await dns.mx(record.name), found =>
        whyNotNames(
          record,
          found.map(mx => mx.exchange),
        ),
      )
    case 'CNAME':
      return judge(await dns.cname(record.name), found => whyNotNames(record, found))
  }
}

function judge<Value>(answer: Answer<Value>, whyNot: (records: Value[]) => string | null): Check {
  if (answer.outcome === 'failed') {
    return { status: 'temporary_failure', problem: `Its name servers could not be asked (${answer.reason}).` }
  }
  const problem = answer.outcome === 'none' ? 'There is no such record.' : whyNot(answer.records)
  return { status: problem === null ? 'verified' : 'failed', problem }
}

function whyNotNames({ value }: DomainRecord, found: string[]): string | null {
  return found.includes(value) ? null : `It leads to ${found.join(', ')}.`
}

function whyNotText({ record, value }: DomainRecord, texts: string[]): string | null {
  if (record === 'DKIM') return whyNotDkim(value, texts)
  if (record === 'SPF') return whyNotSpf(value, texts)
  return texts.some(text => /^v=DMARC1\s*;/i.test(text)) ? null : 'There is no DMARC policy.'
}

/** The tags of RFC 6376 section 3.6.1 that say which key it is. */
function whyNotDkim(value: string, texts: string[]): string | null {
  const [expected, ...found] = [value, ...texts].map(tagsOf)
  return found.some(tags => tags.p === expected?.p) ? null : 'It has another key.'
}

function tagsOf(text: string): Record<string, string> {
  const tags = text.split(';').map(tag => tag.split(/=(.*)/s).map(part => part.replace(/\s+/g, '')))
  return Object.fromEntries(tags.map(([name = '', value = '']) => [name, value]))
}

/** RFC 7208 section 4.5: more than one record is none. */
function whyNotSpf(value: string, texts: string[]): string | null {
  const policies = texts.filter(text => /^v=spf1(?: |$)/i.test(text))
  if (policies.length > 1) return 'There is more than one SPF record.'
  const [policy] = policies
  if (!policy) return 'There is no SPF record.'
  const [, include] = value.split(' ')
  return policy
    .toLowerCase()
    .split(/\s+/)
    .includes(include as string)
    ? null
    : `It has no ${include}.`
}

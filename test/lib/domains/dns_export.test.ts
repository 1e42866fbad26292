import { randomInt } from 'node:crypto'
import t from 'tap'
import type { DomainRecord } from '#lib/domains/domain_records.ts'
import { EXPORT_FORMATS, exportRecords } from '#lib/domains/export/export_records.ts'
import { quoteText, unquoteText } from '#lib/domains/export/quote.ts'

const KEY = `v=DKIM1; k=rsa; p=${'A'.repeat(392)}`
const records: DomainRecord[] = [
  { record: 'DKIM', name: 'mb1._domainkey.b.co', type: 'TXT', value: KEY, purpose: 'sending' },
  { record: 'SPF', name: 'send.b.co', type: 'MX', value: 'feedback.server.com', priority: 10, purpose: 'sending' },
  { record: 'SPF', name: 'send.b.co', type: 'TXT', value: 'v=spf1 include:server.com ~all', purpose: 'sending' },
  { record: 'Tracking', name: 'track.b.co', type: 'CNAME', value: 'links.server.com', purpose: 'feature' },
]
const domain = { name: 'b.co' }

t.test('a zone file has full names, priorities, and texts split at 255 bytes', async t => {
  const { filename, content_type, content } = exportRecords(domain, records, 'zone')
  t.strictSame([filename, content_type], ['b.co.zone', 'text/dns'])
  t.strictSame(content.split('\n'), [
    '; DNS records of b.co: add them to its zone.',
    '; DKIM',
    `mb1._domainkey.b.co.\t3600\tIN\tTXT\t"${KEY.slice(0, 255)}" "${KEY.slice(255)}"`,
    '; SPF',
    'send.b.co.\t3600\tIN\tMX\t10 feedback.server.com.',
    '; SPF',
    'send.b.co.\t3600\tIN\tTXT\t"v=spf1 include:server.com ~all"',
    '; Tracking',
    'track.b.co.\t3600\tIN\tCNAME\tlinks.server.com.',
    '',
  ])
})

t.test('a CSV file follows RFC 4180 and contains no formulas', async t => {
  const hostile = ['=1+1', '+1', '-1', '@x', '\tx', '\uff1d1', '\u00a0=1', 'a,b', 'say "hi"', 'two\nlines', 'plain']
  const rows = hostile.map(value => ({ ...(records[2] as DomainRecord), value }))
  const { filename, content_type, content } = exportRecords(domain, rows, 'csv')
  t.strictSame([filename, content_type], ['b.co.csv', 'text/csv'])
  const values = [
    "'=1+1",
    "'+1",
    "'-1",
    "'@x",
    "'\tx",
    "'\uff1d1",
    "'\u00a0=1",
    '"a,b"',
    '"say ""hi"""',
    '"two\nlines"',
    'plain',
  ]
  const lines = values.map(value => `TXT,send.b.co,${value},,3600\r\n`)
  t.equal(content, `type,name,value,priority,ttl\r\n${lines.join('')}`)
  t.match(exportRecords(domain, records, 'csv').content, '\r\nMX,send.b.co,feedback.server.com,10,3600\r\n')
})

t.test('a JSON file parses to the records', async t => {
  const { filename, content_type, content } = exportRecords(domain, records, 'json')
  t.strictSame([filename, content_type], ['b.co.json', 'application/json'])
  const expected = records.map(({ record: _, purpose: __, ...fields }) => ({ ttl: 3600, ...fields }))
  t.same(JSON.parse(content), expected)
})

t.test('a domain without records exports to a valid file', async t => {
  for (const format of EXPORT_FORMATS) t.ok(exportRecords(domain, [], format).content.endsWith('\n'))
})

t.test('quoteText makes any text printable and reads back unchanged', async t => {
  for (let run = 0; run < 300; run++) {
    const characters = Array.from({ length: randomInt(700) }, () => String.fromCodePoint(oddCharacter()))
    const text = characters.join('')
    const quoted = quoteText(text)
    t.match(quoted, /^"(?:[ !#-[\]-~]|\\["\\]|\\\d{3})*"(?: "(?:[ !#-[\]-~]|\\["\\]|\\\d{3})*")*$/)
    for (const [, string = ''] of quoted.matchAll(/"((?:[^"\\]|\\.)*)"/g)) {
      t.ok(string.replace(/\\\d{3}|\\./g, 'x').length <= 255)
    }
    t.equal(unquoteText(quoted), text)
  }
  t.equal(unquoteText('not "quoted"'), 'not "quoted"')
})

function oddCharacter(): number {
  const kinds = [() => randomInt(0x20, 0x7f), () => randomInt(0x20), () => '"\\;'.charCodeAt(randomInt(3)), () => 0xfc]
  return (kinds[randomInt(kinds.length)] as () => number)()
}

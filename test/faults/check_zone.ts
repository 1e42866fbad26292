import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type DomainRecord,
  domainRecords,
  type PublishedKey,
  type RecordedDomain,
} from '#lib/domains/domain_records.ts'
import { exportRecords } from '#lib/domains/export/export_records.ts'
import { generateDkimKey } from '#lib/mail/dkim.ts'
import { registrableDomain } from '#lib/net/domain_name.ts'

/** Run by check_zone.sh, which makes sure of the tools. */
async function main(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'mailbrook-zones-'))
  try {
    for (const { name, records } of await makeDomains()) await checkDomain(directory, name, records)
    await checkThatFaultsAreSeen(directory)
  } finally {
    await rm(directory, { recursive: true })
  }
  console.log('all zones are valid and hold every record unchanged')
}

type Domain = { name: string; records: DomainRecord[] }

/** Names that the API accepts, with all features of a domain, and texts that no record of ours has today. */
async function makeDomains(): Promise<Domain[]> {
  const keys = await makeKeys()
  const domain = (name: string, more: Partial<RecordedDomain> = {}): Domain => {
    const capabilities = { sending: 'enabled', receiving: 'enabled' } as const
    const links = { open_tracking: true, click_tracking: true, tracking_subdomain: null, custom_return_path: 'send' }
    return { name, records: domainRecords({ name, capabilities, ...links, ...more }, keys, 'mail.mailbrook.net') }
  }
  return [
    domain('acme.com'),
    domain('news.acme.com', { tracking_subdomain: 'links', custom_return_path: 'out-bound' }),
    domain('xn--bcher-kva.de'),
    domain('mail.xn--bcher-kva.xn--p1ai'),
    domain('deep.er.acme.co.uk', { capabilities: { sending: 'enabled', receiving: 'disabled' } }),
    domain(`${'a'.repeat(63)}.com`, { tracking_subdomain: 'b'.repeat(63) }),
    { name: 'texts.com', records: TEXTS.map((value, i) => textRecord(`t${i}.texts.com`, value)) },
  ]
}

async function makeKeys(): Promise<PublishedKey[]> {
  const rsa = await generateDkimKey('rsa-sha256')
  const ed25519 = await generateDkimKey('ed25519-sha256')
  return [
    { selector: 'mb1', algorithm: 'rsa-sha256', public_key: rsa.public_key, state: 'active' },
    { selector: 'mb1e', algorithm: 'ed25519-sha256', public_key: ed25519.public_key, state: 'active' },
    { selector: 'mb2', algorithm: 'rsa-sha256', public_key: 'A'.repeat(736), state: 'staged' }, // as long as a key of 4,096 bits
  ]
}

const TEXTS = [
  'v=spf1 include:mail.mailbrook.net ~all; a "quoted" one, and \\ back; $ORIGIN @ ( ) \t*',
  'ü — 日本語 🎉 \u0007',
  'x'.repeat(255),
  'y'.repeat(256),
  `${'é'.repeat(200)}"`, // a character across the border between two strings
  ' ',
]

function textRecord(name: string, value: string): DomainRecord {
  return { record: 'SPF', name, type: 'TXT', value, purpose: 'advice' }
}

async function checkDomain(directory: string, name: string, records: DomainRecord[]): Promise<void> {
  const zone = registrableDomain(name) as string
  const file = await writeZone(directory, name, exportRecords({ name }, records, 'zone').content)
  const checked = run(
    'named-checkzone',
    '-i',
    'local',
    '-k',
    'fail',
    '-m',
    'fail',
    '-M',
    'fail',
    '-r',
    'fail',
    zone,
    file,
  )
  const compiled = `${file}.canonical`
  run('named-compilezone', '-i', 'local', '-s', 'full', '-o', compiled, zone, file)
  const found = readCanonical(await readFile(compiled, 'latin1'))
  const missing = records.map(canonical).filter(line => !found.includes(line))
  if (missing.length > 0) throw new Error(`${name}: ${missing.join('\n')}\nis not among\n${found.join('\n')}`)
  if (found.length !== records.length) throw new Error(`${name}: ${found.length} records instead of ${records.length}`)
  console.log(`${name}: ${checked.trim().split('\n').join(', ')}; ${records.length} records`)
}

/** An invalid zone, and one with a missing byte: these checks must find both. */
async function checkThatFaultsAreSeen(directory: string): Promise<void> {
  const record = textRecord('t.texts.com', 'one "two')
  const { content } = exportRecords({ name: 'texts.com' }, [record], 'zone')
  const torn = await writeZone(directory, 'torn', content.replace('\\"', '"'))
  if (spawnSync('named-checkzone', ['texts.com', torn]).status === 0) throw new Error('an invalid zone was not refused')
  if (readCanonical('t.texts.com. 3600 IN TXT "one \\"tw"').includes(canonical(record))) throw new Error('a lost byte')
  console.log('an unquoted text is refused, and a missing byte is found')
}

/** A zone file with these lines and the records that every zone must have. */
async function writeZone(directory: string, name: string, content: string): Promise<string> {
  const file = join(directory, name)
  const head =
    '@ 3600 IN SOA ns.mailbrook.net. admin.mailbrook.net. 1 7200 3600 1209600 3600\n@ 3600 IN NS ns.mailbrook.net.\n'
  await writeFile(file, head + content)
  return file
}

function run(program: string, ...words: string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, words, { encoding: 'utf8' })
  if (status !== 0) throw error ?? new Error(`${program} ${words.join(' ')}: ${stdout}${stderr}`)
  return stdout
}

/** Name, type and data in hexadecimal: the bytes of a text, and the text of other data. */
function canonical({ name, type, value, priority }: DomainRecord): string {
  const data = type === 'TXT' ? value : type === 'MX' ? `${priority} ${value}.` : `${value}.`
  return `${name}. ${type} ${Buffer.from(data).toString('hex')}`
}

/** The output of BIND, a record per line, without the records that every zone has. */
function readCanonical(text: string): string[] {
  return text.split('\n').flatMap(line => {
    const [, name, type, data = ''] = /^(\S+)\s+\d+\s+IN\s+(\S+)\s+(.*)$/.exec(line) ?? []
    if (!name || type === 'SOA' || type === 'NS') return []
    return [`${name} ${type} ${(type === 'TXT' ? readStrings(data) : Buffer.from(data)).toString('hex')}`]
  })
}

/** The bytes of the strings in a TXT record (RFC 1035 section 5.1), parsed independently of our code. */
function readStrings(data: string): Buffer {
  const strings = Array.from(data.matchAll(/"((?:\\.|[^"\\])*)"/gs), ([, string = '']) => string)
  const bytes = Array.from(strings.join('').matchAll(/\\(\d{3})|\\?(.)/gs), ([, code, character = '']) =>
    code === undefined ? character.charCodeAt(0) : Number(code),
  )
  return Buffer.from(bytes)
}

await main()

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { openScannerNetworks } from '#lib/tracking/scanner_networks.ts'
import { writeAsnDatabase } from '#test/support/mmdb.ts'

const fileOf = async (bytes: Buffer): Promise<string> => {
  const file = join(t.testdir(), 'asn.mmdb')
  await writeFile(file, bytes)
  return file
}

t.test('openScannerNetworks finds mail filters by autonomous system', async t => {
  const networks = [
    { network: ['67.231.144.0', 20] as [string, number], system: 22_843 },
    { network: ['205.139.110.0', 24] as [string, number], system: 30_031 },
    { network: ['68.232.128.0', 19] as [string, number], system: 16_417 },
    { network: ['8.8.8.0', 24] as [string, number], system: 15_169 },
  ]
  const findScanner = openScannerNetworks(await fileOf(writeAsnDatabase(networks)))
  const found = [
    '67.231.144.1',
    '67.231.159.255',
    '205.139.110.9',
    '68.232.130.1',
    '8.8.8.8',
    '67.231.160.1',
    '::1',
    '2001:db8::1',
  ]
  t.strictSame(found.map(findScanner), [
    ...['proofpoint_network', 'proofpoint_network', 'mimecast_network', 'cisco_network', null, null, null, null],
  ])
})

t.test('without ASN_DATABASE no address is a mail filter', async t => {
  t.equal(openScannerNetworks(undefined)('67.231.144.1'), null)
})

t.test('ASN_DATABASE must be an ASN database', async t => {
  const city = writeAsnDatabase([{ network: ['8.8.8.0', 24], system: 1 }], 'GeoLite2-City')
  for (const bytes of [Buffer.from('nonsense'), Buffer.alloc(0), city]) {
    const file = await fileOf(bytes)
    t.throws(() => openScannerNetworks(file), { message: /^ASN_DATABASE: .* is no readable database/ })
  }
  t.throws(() => openScannerNetworks('/nowhere/asn.mmdb'), { message: /^ASN_DATABASE: \/nowhere\/asn\.mmdb is no/ })
})

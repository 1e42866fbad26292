import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv4 } from 'node:net'
import dnsPacket, { type Answer, type DecodedPacket } from 'dns-packet'
import type { Test } from 'tap'
import { createResolve, type Resolve } from '../lib/fetch/resolve.ts'

/** Records by type: texts, addresses and names as they are, of an MX `10 mx.acme.com`, of a null one `0 .`. */
export type Records = Partial<Record<'A' | 'AAAA' | 'TXT' | 'MX' | 'CNAME' | 'NS' | 'PTR', string[]>>

/** `missing`: there is no such name; `servfail`, `refused` and `silent`: nobody can say. */
export type Trouble = 'missing' | 'servfail' | 'refused' | 'silent'

/** Names in lower case; what is not in it is missing. Changed at any time. */
export type Zone = Record<string, Records | Trouble>

export type NameServer = {
  /** For DNS_SERVERS. */
  server: string
  zone: Zone
  /** The questions, `MX acme.com`, in order. */
  asked: string[]
}

const CODES: Record<Exclude<Trouble, 'silent'>, number> = { missing: 3, servfail: 2, refused: 5 }
const AUTHORITATIVE = 1 << 10

/** A DNS server (RFC 1035) with these records, TTL 0. */
export async function startZone(t: Pick<Test, 'teardown'>, zone: Zone = {}): Promise<NameServer> {
  const asked: string[] = []
  const socket = createSocket('udp4', (bytes, { port, address }) => {
    const query = dnsPacket.decode(bytes)
    const { name = '', type } = query.questions?.[0] ?? {}
    asked.push(`${type} ${name.toLowerCase()}`)
    const records = zone[name.toLowerCase()] ?? 'missing'
    if (records !== 'silent') socket.send(answer(query, records), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.teardown(() => socket.close())
  return { server: `127.0.0.1:${socket.address().port}`, zone, asked }
}

/** A resolver of names whose addresses a function knows. Null: nobody answers. `asked`: each name, for A and for AAAA. */
export async function startNameServer(
  t: Test,
  addressesOf: (name: string) => string[] | null,
): Promise<{ resolve: Resolve; asked: string[] }> {
  const asked: string[] = []
  const records = (name: string): Records | Trouble => {
    const addresses = addressesOf(name)
    if (!addresses) return 'silent'
    if (addresses.length === 0) return 'missing'
    return { A: addresses.filter(isIPv4), AAAA: addresses.filter(address => !isIPv4(address)) }
  }
  const handler: ProxyHandler<Zone> = {
    get(_, name: string) {
      asked.push(name)
      return records(name)
    },
  }
  const { server } = await startZone(t, new Proxy({}, handler))
  return { resolve: createResolve([server]), asked }
}

function answer(query: DecodedPacket, records: Records | Exclude<Trouble, 'silent'>): Buffer {
  const [question] = query.questions ?? []
  const isTrouble = typeof records === 'string'
  return dnsPacket.encode({
    type: 'response',
    id: query.id ?? 0,
    flags: AUTHORITATIVE | (isTrouble ? CODES[records] : 0),
    questions: query.questions ?? [],
    answers: isTrouble || !question ? [] : answersOf(question.name, question.type, records),
  } as Parameters<typeof dnsPacket.encode>[0])
}

function answersOf(name: string, type: string, records: Records): Answer[] {
  const texts = records[type as keyof Records] ?? []
  return texts.map(text => ({ type, name, ttl: 0, data: dataOf(type, text) }) as Answer)
}

function dataOf(type: string, text: string): unknown {
  // A string of a TXT record has 255 bytes at most.
  if (type === 'TXT') return text.match(/.{1,255}/gs) ?? ['']
  if (type !== 'MX') return text
  const [preference, exchange] = text.split(' ')
  return { preference: Number(preference), exchange }
}

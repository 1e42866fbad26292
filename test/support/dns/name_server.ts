import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer, isIPv4, type Socket } from 'node:net'
import dnsPacket, { type Answer, type DecodedPacket } from 'dns-packet'
import type { Test } from 'tap'
import type { DnsTimes } from '#lib/net/dns.ts'
import { createResolve, type Resolve } from '#lib/net/fetch/resolve.ts'

/** Records by type: texts, addresses and names as they are, an MX as `10 mx.acme.com`, a null MX as `0 .`. */
export type Records = Partial<Record<'A' | 'AAAA' | 'TXT' | 'MX' | 'CNAME' | 'NS' | 'PTR', string[]>>

/** `missing`: the name does not exist; `servfail`, `refused`, `silent` and `garbage`: the lookup fails. */
export type Trouble = 'missing' | 'servfail' | 'refused' | 'silent' | 'garbage'

/** Names in lower case; other names are missing. It may be changed at any time. */
export type Zone = Record<string, Records | Trouble>

/** For zones that respond: a response delayed by a busy machine must not count as silence. */
export const PATIENT_TIMES: DnsTimes = { try_ms: 2_000, tries: 1, deadline_ms: 4_000 }

/** For zones that are silent. */
export const SHORT_TIMES: DnsTimes = { try_ms: 250, tries: 1, deadline_ms: 500 }

export type NameServer = {
  /** The value for DNS_SERVERS. */
  server: string
  zone: Zone
  /** The questions, such as `MX acme.com`, in order. */
  asked: string[]
}

type Code = Exclude<Trouble, 'silent' | 'garbage'>
const CODES: Record<Code, number> = { missing: 3, servfail: 2, refused: 5 }
const AUTHORITATIVE = 1 << 10
const TRUNCATED = 1 << 9

/** Longer responses do not fit UDP: the client is told to use TCP. */
const MAX_DATAGRAM = 1_232

/** A DNS server (RFC 1035) over UDP and TCP with these records and TTL 0. CNAMEs are followed within the zone. */
export async function startZone(t: Pick<Test, 'teardown'>, zone: Zone = {}): Promise<NameServer> {
  const asked: string[] = []
  const reply = (bytes: Buffer): Buffer | null => {
    const query = dnsPacket.decode(bytes)
    const { name = '', type } = query.questions?.[0] ?? {}
    asked.push(`${type} ${name.toLowerCase()}`)
    const records = zone[name.toLowerCase()] ?? 'missing'
    if (records === 'silent') return null
    return records === 'garbage'
      ? Buffer.concat([bytes.subarray(0, 2), Buffer.alloc(40, 0xff)])
      : answer(query, records, zone)
  }
  const tcp = createServer(socket => answerStream(socket, reply))
  tcp.listen(0, '127.0.0.1')
  await once(tcp, 'listening')
  const { port } = tcp.address() as AddressInfo
  const udp = createSocket('udp4', (bytes, from) => {
    const whole = reply(bytes)
    if (whole) udp.send(whole.length > MAX_DATAGRAM ? truncated(bytes) : whole, from.port, from.address)
  })
  udp.bind(port, '127.0.0.1')
  await once(udp, 'listening')
  t.teardown(() => {
    udp.close()
    tcp.close()
  })
  return { server: `127.0.0.1:${port}`, zone, asked }
}

/** Handles one question per connection. */
function answerStream(socket: Socket, reply: (bytes: Buffer) => Buffer | null): void {
  let bytes = Buffer.alloc(0)
  socket.on('error', () => {})
  socket.on('data', chunk => {
    bytes = Buffer.concat([bytes, chunk])
    if (bytes.length < 2 || bytes.length < 2 + bytes.readUInt16BE(0)) return
    const whole = reply(bytes.subarray(2))
    const length = Buffer.alloc(2)
    length.writeUInt16BE(whole?.length ?? 0)
    if (whole) socket.end(Buffer.concat([length, whole]))
    else socket.destroy()
  })
}

/** A resolver of names whose addresses a function returns. Null: no response. `asked`: each name, for A and for AAAA. */
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

function answer(query: DecodedPacket, records: Records | Code, zone: Zone): Buffer {
  const [question] = query.questions ?? []
  const isTrouble = typeof records === 'string'
  return dnsPacket.encode({
    type: 'response',
    id: query.id ?? 0,
    flags: AUTHORITATIVE | (isTrouble ? CODES[records] : 0),
    questions: query.questions ?? [],
    answers: isTrouble || !question ? [] : answersOf(question.name, question.type, records, zone),
  } as Parameters<typeof dnsPacket.encode>[0])
}

function truncated(bytes: Buffer): Buffer {
  const { id = 0, questions = [] } = dnsPacket.decode(bytes)
  return dnsPacket.encode({ type: 'response', id, flags: AUTHORITATIVE | TRUNCATED, questions })
}

const MAX_CHAIN = 8

function answersOf(name: string, type: string, records: Records, zone: Zone, depth = 0): Answer[] {
  const own = (records[type as keyof Records] ?? []).map(text => ({ type, name, ttl: 0, data: dataOf(type, text) }))
  const [alias] = type === 'CNAME' ? [] : (records.CNAME ?? [])
  if (alias === undefined) return own as Answer[]
  const next = zone[alias.toLowerCase()]
  const rest = typeof next === 'object' && depth < MAX_CHAIN ? answersOf(alias, type, next, zone, depth + 1) : []
  return [{ type: 'CNAME', name, ttl: 0, data: alias }, ...rest]
}

function dataOf(type: string, text: string): unknown {
  // A string of a TXT record has at most 255 bytes.
  if (type === 'TXT') return text.match(/.{1,255}/gs) ?? ['']
  if (type !== 'MX') return text
  const [preference, exchange] = text.split(' ')
  return { preference: Number(preference), exchange }
}

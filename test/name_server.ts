import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv4 } from 'node:net'
import ipaddr from 'ipaddr.js'
import type { Test } from 'tap'
import { createResolve, type Resolve } from '../lib/fetch/resolve.ts'

export type NameServer = {
  resolve: Resolve
  /** The names asked for, each once for A and once for AAAA. */
  asked: string[]
}

const A = 1
const AAAA = 28
const NAME_ERROR = 3

/** A DNS server (RFC 1035 section 4) that answers with the addresses of a name, TTL 0. Null: it does not answer. */
export async function startNameServer(t: Test, addressesOf: (name: string) => string[] | null): Promise<NameServer> {
  const asked: string[] = []
  const socket = createSocket('udp4', (query, { port, address }) => {
    const { name, type, question } = questionOf(query)
    asked.push(name)
    const addresses = addressesOf(name)
    if (!addresses) return
    const records = addresses.filter(address => typeOf(address) === type).map(recordOf)
    const flags = 0x8180 | (addresses.length > 0 ? 0 : NAME_ERROR)
    const header = Buffer.alloc(12)
    query.copy(header, 0, 0, 2)
    header.writeUInt16BE(flags, 2)
    header.writeUInt16BE(1, 4)
    header.writeUInt16BE(records.length, 6)
    socket.send(Buffer.concat([header, question, ...records]), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.teardown(() => socket.close())
  return { resolve: createResolve([`127.0.0.1:${socket.address().port}`]), asked }
}

function questionOf(query: Buffer): { name: string; type: number; question: Buffer } {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] as number; length > 0; length = query[at] as number) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return {
    name: labels.join('.').toLowerCase(),
    type: query.readUInt16BE(at + 1),
    question: query.subarray(12, at + 5),
  }
}

function recordOf(address: string): Buffer {
  const data = Buffer.from(ipaddr.parse(address).toByteArray())
  return Buffer.concat([Buffer.from([0xc0, 12, 0, typeOf(address), 0, 1, 0, 0, 0, 0, 0, data.length]), data])
}

function typeOf(address: string): number {
  return isIPv4(address) ? A : AAAA
}

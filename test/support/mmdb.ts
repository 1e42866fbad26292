/** An IPv4 network as `[address, prefix length]`, with the number of its autonomous system. */
export type AsnNetwork = { network: [string, number]; system: number }

type Value = string | number | Map<string, Value> | string[]
type Node = { children: [Node | number | null, Node | number | null] }

/** IPv4 addresses are the lowest IPv6 addresses. */
const IPV4_AT = 96

/** Writes a MaxMind DB (https://maxmind.github.io/MaxMind-DB/) like GeoLite2-ASN: an IPv6 tree with numbers of systems. */
export function writeAsnDatabase(networks: AsnNetwork[], databaseType = 'GeoLite2-ASN'): Buffer {
  const root: Node = { children: [null, null] }
  const data: Buffer[] = []
  let size = 0
  for (const { network, system } of networks) {
    insert(root, bitsOf(network), size)
    const record = encode(new Map<string, Value>([['autonomous_system_number', system]]))
    data.push(record)
    size += record.length
  }
  const { nodes, tree } = writeTree(root)
  const metadata = new Map<string, Value>([
    ['node_count', nodes],
    ['record_size', 24],
    ['ip_version', 6],
    ['database_type', databaseType],
    ['languages', ['en']],
    ['binary_format_major_version', 2],
    ['binary_format_minor_version', 0],
    ['build_epoch', 1_700_000_000],
    ['description', new Map([['en', 'made by a test']])],
  ])
  return Buffer.concat([
    ...[tree, Buffer.alloc(16), ...data],
    Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1'),
    encode(metadata),
  ])
}

function bitsOf([address, length]: [string, number]): number[] {
  const bits = address.split('.').flatMap(part => [...Number(part).toString(2).padStart(8, '0')].map(Number))
  return [...Array<number>(IPV4_AT).fill(0), ...bits.slice(0, length)]
}

function insert(root: Node, bits: number[], offset: number): void {
  let node = root
  for (const bit of bits.slice(0, -1)) {
    node.children[bit as 0 | 1] ??= { children: [null, null] }
    node = node.children[bit as 0 | 1] as Node
  }
  node.children[bits.at(-1) as 0 | 1] = offset
}

function writeTree(root: Node): { nodes: number; tree: Buffer } {
  const nodes = [root]
  for (const { children } of nodes) for (const child of children) if (child instanceof Object) nodes.push(child)
  const tree = Buffer.alloc(nodes.length * 6)
  for (const [n, { children }] of nodes.entries()) {
    for (const [side, child] of children.entries()) {
      const record =
        child === null ? nodes.length : child instanceof Object ? nodes.indexOf(child) : nodes.length + 16 + child
      tree.writeUIntBE(record, n * 6 + side * 3, 3)
    }
  }
  return { nodes: nodes.length, tree }
}

/** A control byte (type and size), then the value. Numbers have 32 bits. */
function encode(value: Value): Buffer {
  if (typeof value === 'number') {
    const bytes = Buffer.alloc(5, (6 << 5) | 4)
    bytes.writeUInt32BE(value, 1)
    return bytes
  }
  if (typeof value === 'string') return Buffer.concat([Buffer.of((2 << 5) | value.length), Buffer.from(value)])
  if (Array.isArray(value)) return Buffer.concat([Buffer.of(value.length, 11 - 7), ...value.map(encode)])
  const entries = [...value].flatMap(([key, of]) => [encode(key), encode(of)])
  return Buffer.concat([Buffer.of((7 << 5) | value.size), ...entries])
}

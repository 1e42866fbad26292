import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

type Pair = { client: Socket; server: Socket; seen: string; isMuted: boolean }
type Trap = { text: string; left: number; at: 'request' | 'reply'; sprung: () => void }

const READY_FOR_QUERY = Buffer.from('Z\0\0\0\x05') // then one byte: the request is complete

/** A proxy between clients and the Postgres of `target_url`, without TLS. */
export async function startPgProxy(target_url: string): Promise<PgProxy> {
  const proxy = new PgProxy(target_url)
  proxy.listener.listen(0, '127.0.0.1')
  await once(proxy.listener, 'listening')
  return proxy
}

export class PgProxy {
  readonly listener: Server = createServer({ noDelay: true, allowHalfOpen: true }, client => this.accept(client))
  readonly target: URL
  readonly pairs = new Set<Pair>()
  isRefusing = false
  wait = 0
  gate: PromiseWithResolvers<void> | null = null
  trap: Trap | null = null

  constructor(target_url: string) {
    this.target = new URL(target_url)
  }

  get url(): string {
    const url = new URL(this.target)
    url.host = `127.0.0.1:${(this.listener.address() as AddressInfo).port}`
    return url.href
  }

  /** Ends all connections; new ones are accepted. */
  cut(): void {
    for (const { client, server } of this.pairs) for (const socket of [client, server]) socket.destroy()
  }

  /** Resets all connections with RST, like a machine that has restarted. */
  reset(): void {
    for (const { client, server } of this.pairs) for (const socket of [client, server]) socket.resetAndDestroy()
  }

  /** Refuses new connections, like a server that is down. */
  refuse(on: boolean): void {
    this.isRefusing = on
  }

  /**
   * Holds back all data in both directions, so that new connections hang, and ends are not answered; the data follows
   * when it is switched off.
   */
  blackhole(on: boolean): void {
    this.gate?.resolve()
    this.gate = on ? Promise.withResolvers() : null
  }

  /** Delays every piece of data by this time, in both directions. */
  delay(ms: number): void {
    this.wait = ms
  }

  /** Cuts the connection of the nth request with this text before Postgres gets it. Resolves when this is done. */
  cutRequest(text: string, nth = 1): Promise<void> {
    return new Promise(sprung => {
      this.trap = { text, left: nth, at: 'request', sprung }
    })
  }

  /** Cuts it when Postgres has finished the request and the client does not know: the ambiguous commit. */
  cutReply(text: string, nth = 1): Promise<void> {
    return new Promise(sprung => {
      this.trap = { text, left: nth, at: 'reply', sprung }
    })
  }

  async close(): Promise<void> {
    this.blackhole(false)
    this.listener.close()
    this.cut()
    await once(this.listener, 'close')
  }

  accept(client: Socket): void {
    if (this.isRefusing) return void client.resetAndDestroy()
    const server = connect({ host: this.target.hostname, port: Number(this.target.port || 5432), noDelay: true })
    const pair: Pair = { client, server, seen: '', isMuted: false }
    this.pairs.add(pair)
    const end = () => {
      this.pairs.delete(pair)
      for (const socket of [client, server]) socket.destroySoon()
    }
    for (const socket of [client, server]) socket.on('error', () => {}).once('close', end)
    this.pump(client, server, chunk => this.passesRequest(pair, chunk)).then(end, end)
    this.pump(server, client, chunk => this.passesReply(pair, chunk)).then(end, end)
  }

  async pump(from: Socket, to: Socket, passes: (chunk: Buffer) => boolean): Promise<void> {
    for await (const chunk of from) {
      while (this.gate) await this.gate.promise
      if (this.wait > 0) await sleep(this.wait)
      if (passes(chunk) && !to.write(chunk)) await Promise.race([once(to, 'drain'), once(to, 'close')])
    }
  }

  /** The text may be split between two pieces. */
  passesRequest(pair: Pair, chunk: Buffer): boolean {
    const { trap } = this
    if (!trap) return true
    const text = pair.seen + chunk.toString('latin1')
    const isHit = text.includes(trap.text) && --trap.left === 0
    pair.seen = text.includes(trap.text) ? '' : text.slice(1 - trap.text.length)
    if (!isHit) return true
    pair.isMuted = trap.at === 'reply'
    if (trap.at === 'request') this.spring(pair)
    return pair.isMuted
  }

  passesReply(pair: Pair, chunk: Buffer): boolean {
    if (!pair.isMuted) return true
    if (chunk.subarray(-1 - READY_FOR_QUERY.length, -1).equals(READY_FOR_QUERY)) this.spring(pair)
    return false
  }

  spring({ client, server }: Pair): void {
    for (const socket of [client, server]) socket.destroy()
    this.trap?.sprung()
    this.trap = null
  }
}

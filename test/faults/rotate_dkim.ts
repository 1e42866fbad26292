import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { PresentedDomain } from '#flows/domains/find_domain.ts'
import { addJob } from '#sql/jobs.ts'
import { type Ask, callerOf } from '#test/faults/support/api_caller.ts'
import { waitForNone } from '#test/faults/support/deliveries.ts'
import { Load } from '#test/faults/support/load.ts'
import { recipient, type Stage } from '#test/faults/support/stage.ts'
import { FAULT_TIMES } from '#test/faults/support/worker.ts'
import { type NameServer, startZone } from '#test/support/dns/name_server.ts'
import { publish } from '#test/support/dns/publish.ts'
import { passesOf, verdictsOf } from '#test/support/mail/dkim.ts'
import { startInbox } from '#test/support/smtp/inbox.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { Report, readOptions, runCampaign } from './campaign.ts'

type Options = { rotations: number; messages: number; workers: number }

const DOMAIN = 'rotating.com'

/** The maximum number of emails that are accepted and have not arrived yet. */
const AHEAD = 40

/**
 * The DKIM keys of a domain are rotated while it sends: staged, published, found, switched, retired, and deleted before the next
 * rotation. Every message has two signatures that pass with the DNS records of that moment. `messages` arrive in each of the
 * three phases of a rotation.
 */
export async function rotateDkim(stage: Stage, { rotations, messages, workers }: Options): Promise<Report> {
  const report = new Report()
  const closing: (() => unknown)[] = []
  const scope = { teardown: (close: () => unknown) => void closing.push(close) }
  try {
    const dns = await startZone(scope)
    const receiver = new Receiver(dns)
    const inbox = await startInbox(scope, { onData: receiver.onData })
    const environment = { DNS_SERVERS: dns.server, SERVER_DOMAIN: 'mail.server.com', LOG_LEVEL: 'info' }
    const { url } = await stage.startWeb(environment)
    for (let n = 0; n < workers; n++) {
      const worker = stage.start('test/faults/support/worker.ts', { ...environment, MAIL_TRANSPORT: inbox.url })
      await worker.says(/^ready$/)
    }
    const owner = new Owner(callerOf(url, stage), dns)
    await owner.addDomain()
    const sending = new Sending(stage, url, receiver)
    for (let generation = 2; generation <= rotations + 1; generation++) {
      if (generation > 2) await forget(stage, sending, owner, generation - 2)
      sending.start()
      const rotated = await owner.post('/dkim/rotate')
      await receiver.more(messages)
      publish(dns.zone, rotated)
      await receiver.more(messages)
      await owner.post('/verify')
      await receiver.first(generation)
      await receiver.more(messages)
    }
    const accepted = await sending.stop()
    await waitForNone(stage, ['queued', 'sending'])

    const expected = Array.from({ length: rotations + 1 }, (_, i) => String(passesOf(i + 1)))
    report.note({ rotations, workers, accepted, ...receiver.tally })
    report.expect(receiver.count === accepted, `${receiver.count} of ${accepted} arrived`)
    for (const verdicts of Object.keys(receiver.tally)) {
      report.expect(expected.includes(verdicts), `a message has the verdicts ${verdicts}`)
    }
    for (const verdicts of expected)
      report.expect(verdicts in receiver.tally, `no message has the verdicts ${verdicts}`)
    await report.consult(stage)
    return report
  } finally {
    for (const close of closing) await close()
  }
}

/** Lets a week pass: no messages with the retired keys are in transit, the keys are deleted, and their records may be removed. */
async function forget(stage: Stage, sending: Sending, owner: Owner, generation: number): Promise<void> {
  await sleep(2 * FAULT_TIMES.keys_ms)
  await sending.stop()
  await waitForNone(stage, ['queued', 'sending'])
  await stage.pool.pg.query(`UPDATE dkim_keys SET retired_at = now() - interval '8 days' WHERE state = 'retired'`)
  await addJob(stage.pool, 'rotate_dkim_keys', {})
  await owner.unpublish(generation)
}

/** Verifies each message when it arrives, before the reply. */
class Receiver {
  count = 0
  /** How many messages had which verdicts. */
  readonly tally: Record<string, number> = {}
  readonly #server: string

  constructor({ server }: NameServer) {
    this.#server = server
  }

  readonly onData = async (stream: NodeJS.ReadableStream, _session: unknown, callback: (error?: Error) => void) => {
    const verdicts = String(await verdictsOf(await buffer(stream), this.#server))
    this.tally[verdicts] = (this.tally[verdicts] ?? 0) + 1
    this.count++
    callback()
  }

  more(count: number): Promise<void> {
    return this.reaches(this.count + count)
  }

  async reaches(count: number): Promise<void> {
    await waitUntil(
      () => this.count >= count,
      () => `${this.count} of ${count} messages have arrived`,
    )
  }

  /** Resolves when a message signed with the keys of this generation has arrived. */
  async first(generation: number): Promise<void> {
    const isThere = () => Object.keys(this.tally).some(verdicts => verdicts.includes(` mb${generation} `))
    await waitUntil(isThere, `a message that is signed with the keys of generation ${generation}`)
  }
}

/** Posts emails one after the other, slightly ahead of their arrival. */
class Sending {
  readonly #load: Load
  readonly #url: string
  readonly #receiver: Receiver
  #accepted = 0
  #isStopping = false
  #posting: Promise<void> = Promise.resolve()

  constructor(stage: Stage, url: string, receiver: Receiver) {
    const compose = (n: number) => ({
      path: '/api/emails',
      body: { from: `hello@${DOMAIN}`, to: recipient('ok', n), subject: `Number ${n}`, html: '<p>Hello</p>' },
    })
    this.#load = new Load(stage, { compose })
    this.#url = url
    this.#receiver = receiver
  }

  start(): void {
    this.#isStopping = false
    this.#posting = this.#post()
    this.#posting.catch(() => {}) // the caller of `stop` gets the error
  }

  /** Returns how many were accepted since the beginning. */
  async stop(): Promise<number> {
    this.#isStopping = true
    await this.#posting
    return this.#accepted
  }

  async #post(): Promise<void> {
    while (!this.#isStopping) {
      const [answer] = await this.#load.send([this.#url], this.#accepted)
      if (answer?.status !== 200) throw new Error(`an email got the status ${answer?.status}`)
      this.#accepted++
      await this.#receiver.reaches(this.#accepted - AHEAD)
    }
  }
}

/** The owner of the domain, who maintains its zone. */
class Owner {
  readonly #ask: Ask
  readonly #dns: NameServer
  #path = '/domains'

  constructor(ask: Ask, dns: NameServer) {
    this.#ask = ask
    this.#dns = dns
  }

  async addDomain(): Promise<void> {
    const added = await this.#ask<PresentedDomain>('POST', this.#path, { name: DOMAIN })
    this.#path += `/${added.id}`
    publish(this.#dns.zone, added)
    await this.post('/verify')
    await waitUntil(
      async () => (await this.#ask<PresentedDomain>('GET', this.#path)).status === 'verified',
      'the domain is verified',
    )
  }

  post(path: string): Promise<PresentedDomain> {
    return this.#ask('POST', this.#path + path)
  }

  /** Removes records once they are no longer listed. */
  async unpublish(generation: number): Promise<void> {
    const names = [`mb${generation}._domainkey`, `mb${generation}e._domainkey`]
    const isListed = async () =>
      (await this.#ask<PresentedDomain>('GET', this.#path)).records.some(({ name }) => names.includes(name))
    await waitUntil(async () => !(await isListed()), `${names} are no longer listed`)
    for (const name of names) delete this.#dns.zone[`${name}.${DOMAIN}`]
  }
}

/** node test/faults/rotate_dkim.ts [--rotations 8] [--messages 200] [--workers 2] */
if (import.meta.main) {
  const options = readOptions({ rotations: 8, messages: 200, workers: 2 })
  await runCampaign('the keys of a domain are changed while it sends', stage => rotateDkim(stage, options))
}

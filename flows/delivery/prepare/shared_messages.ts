import { FairQueue } from '#lib/async/fair_queue.ts'
import { isPersonal } from '#lib/contents/compile_content.ts'
import type { ClaimedDelivery } from '#sql/delivery/deliveries.ts'
import { LARGE, type Prepared, type PrepareMessage } from './prepare_message.ts'

/**
 * Bytes that all large messages of a process take together, of which one destination gets half: one that takes an hour
 * for its mail is not to hold up that of others. What is larger than its share, or than all, goes alone.
 */
const ROOM = 160 << 20

type Shared = {
  /** The one that came first, which the room is counted for. */
  destination: string
  users: number
  prepared: Promise<Prepared> | null
  isSlow: boolean
  /** Who is to be told when it turns out to be slow. */
  onSlow: (() => void)[]
  message: Promise<Buffer> | null
  /** Bytes taken of the room. */
  taken: number
}

type Waiting = { shared: Shared; size: number; admit: () => void; refuse: (reason: Error) => void }

/**
 * Recipients of one email share its message while any of them is held; those of a personal one share what it is composed
 * from. Large messages wait until there is room.
 */
export class SharedMessages {
  readonly #prepareMessage: PrepareMessage
  /** By id of the email, or of the delivery for the message of a personal one. */
  readonly #shared = new Map<string, Shared>()
  readonly #large: FairQueue<Waiting>
  #isStopped = false

  constructor(prepareMessage: PrepareMessage, room: number = ROOM) {
    this.#prepareMessage = prepareMessage
    this.#large = new FairQueue(room, room / 2, ({ size }) => size)
  }

  /** Each must leave, whatever becomes of it. */
  join({ id, email_id, destination, renderer }: ClaimedDelivery): void {
    this.#use(email_id, destination)
    if (isPersonal(renderer)) this.#use(id, destination)
  }

  leave({ id, email_id, renderer }: ClaimedDelivery): void {
    this.#disuse(email_id)
    if (isPersonal(renderer)) this.#disuse(id)
  }

  /** `onSlow` is called when it waits for servers of strangers. */
  prepare({ account_id, email_id }: ClaimedDelivery, onSlow: () => void = () => {}): Promise<Prepared> {
    const shared = this.#of(email_id)
    if (shared.isSlow) onSlow()
    else shared.onSlow.push(onSlow)
    shared.prepared ??= this.#prepareMessage({ account_id, id: email_id }, () => {
      shared.isSlow = true
      for (const tell of shared.onSlow.splice(0)) tell()
    })
    return shared.prepared
  }

  /** The finished message. That of a large one is not even read while there is no room; `stop` rejects what waits. */
  compose(delivery: ClaimedDelivery, { size, compose }: Prepared): Promise<Buffer> {
    const shared = this.#of(isPersonal(delivery.renderer) ? delivery.id : delivery.email_id)
    shared.message ??= size > LARGE ? this.#roomFor(shared, size).then(() => compose(delivery)) : compose(delivery)
    return shared.message
  }

  stop(): void {
    this.#isStopped = true
    for (const { refuse } of this.#large.clear()) refuse(stopped())
  }

  #use(id: string, destination: string): void {
    const shared = this.#shared.get(id)
    if (shared) shared.users++
    else this.#shared.set(id, { ...untouched(), destination, users: 1 })
  }

  #disuse(id: string): void {
    const shared = this.#of(id)
    if (--shared.users > 0) return
    this.#shared.delete(id)
    if (shared.taken === 0) return
    this.#large.free(shared.destination, shared.taken)
    this.#admit()
  }

  #of(id: string): Shared {
    const shared = this.#shared.get(id)
    if (!shared) throw new Error(`${id} is not held`)
    return shared
  }

  #roomFor(shared: Shared, size: number): Promise<void> {
    if (this.#isStopped) return Promise.reject(stopped())
    return new Promise((admit, refuse) => {
      this.#large.push(shared.destination, { shared, size, admit, refuse })
      this.#admit()
    })
  }

  #admit(): void {
    for (let next = this.#large.take(); next; next = this.#large.take()) {
      next.shared.taken = next.size
      next.admit()
    }
  }
}

function untouched(): Omit<Shared, 'destination' | 'users'> {
  return { prepared: null, isSlow: false, onSlow: [], message: null, taken: 0 }
}

function stopped(): Error {
  return new Error('The worker stopped.')
}

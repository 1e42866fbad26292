import { FairQueue } from '#lib/async/fair_queue.ts'
import { isPersonal } from '#lib/contents/compile_content.ts'
import type { ClaimedDelivery } from '#sql/delivery/deliveries.ts'
import { LARGE, type Prepared, type PrepareMessage } from './prepare_message.ts'

/**
 * Bytes for all large messages of a process. One destination gets at most half, so that a destination that takes an
 * hour for its mail does not hold up the others. A message that is larger than its share, or than all the room, goes
 * alone.
 */
const ROOM = 160 << 20

type Shared = {
  /** The destination of the first delivery, to which the room is charged. */
  destination: string
  users: number
  prepared: Promise<Prepared> | null
  isSlow: boolean
  /** Called once it turns out to be slow. */
  onSlow: (() => void)[]
  message: Promise<Buffer> | null
  /** Bytes taken of the room. */
  taken: number
}

type Waiting = { shared: Shared; size: number; admit: () => void; refuse: (reason: Error) => void }

/**
 * Recipients of one email share its message while any of them is held; recipients of a personal email share the sources
 * that it is composed from. Large messages wait until there is room.
 */
export class SharedMessages {
  readonly #prepareMessage: PrepareMessage
  /** By id of the email; the message of a personal one by id of the delivery. */
  readonly #shared = new Map<string, Shared>()
  readonly #large: FairQueue<Waiting>
  #isStopped = false

  constructor(prepareMessage: PrepareMessage, room: number = ROOM) {
    this.#prepareMessage = prepareMessage
    this.#large = new FairQueue(room, room / 2, { weigh: ({ size }) => size })
  }

  /** Each delivery that joins must `leave`, whatever happens to it. */
  join({ id, email_id, destination, renderer }: ClaimedDelivery): void {
    this.#use(email_id, destination)
    if (isPersonal(renderer)) this.#use(id, destination)
  }

  leave({ id, email_id, renderer }: ClaimedDelivery): void {
    this.#disuse(email_id)
    if (isPersonal(renderer)) this.#disuse(id)
  }

  /** `onSlow` is called if preparing waits for a server of somebody else. */
  prepare({ account_id, email_id }: ClaimedDelivery, onSlow: () => void = () => {}): Promise<Prepared> {
    const shared = this.#of(email_id)
    if (shared.isSlow) onSlow()
    else shared.onSlow.push(onSlow)
    shared.prepared ??= this.#prepareMessage({ account_id, id: email_id }, () => {
      shared.isSlow = true
      for (const notify of shared.onSlow.splice(0)) notify()
    })
    return shared.prepared
  }

  /**
   * Returns the finished message. Contents of a large one are not even read until there is room; `stop` rejects those
   * that wait.
   */
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

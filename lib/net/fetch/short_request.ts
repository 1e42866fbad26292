import type { IncomingHttpHeaders } from 'node:http'
import { PatientTimer } from '#lib/async/patient_timer.ts'
import { type Client, type Dispatcher, type HttpRequest, headersOf } from './client.ts'

export type ShortRequest = HttpRequest & {
  /** Maximum bytes of the body that are read. */
  max_bytes: number
  /** From now to the last byte that is awaited. */
  deadline_ms: number
}

/** `body`: its beginning; null if it is compressed, which we did not ask for (RFC 9110 12.5.3). */
export type ShortResponse = { status: number; headers: IncomingHttpHeaders; body: Buffer | null }

type Head = Pick<ShortResponse, 'status' | 'headers'>
type Outcome = ShortResponse & { isWhole: boolean }

/** Time for the body after the headers, which are enough by themselves. */
const BODY_MS = 2_000

/**
 * Sends a request over this connection, and reads the beginning of the response. `isWhole`: it was read to its end, so the
 * connection can be reused. Rejects if no headers arrived in time.
 *
 * It uses undici's own handlers: a stream per body would cost more than everything else.
 */
export function sendShortRequest(client: Client, url: URL, request: ShortRequest): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const reader = new Reader(request, resolve, reject)
    const path = url.pathname + url.search
    const { method = 'GET', body = null } = request
    client.dispatch({ path, method, headers: headersOf(request), body }, reader)
  })
}

class Reader implements Dispatcher.DispatchHandler {
  readonly #max: number
  readonly #ends_at: number
  readonly #resolve: (outcome: Outcome) => void
  readonly #reject: (error: Error) => void
  readonly #chunks: Buffer[] = []
  #timer: PatientTimer
  #controller: Dispatcher.DispatchController | undefined
  #head: Head | undefined
  #size = 0
  #isLate = false
  #isEnded = false

  constructor(request: ShortRequest, resolve: (outcome: Outcome) => void, reject: (error: Error) => void) {
    this.#max = request.max_bytes
    this.#resolve = resolve
    this.#reject = reject
    this.#ends_at = performance.now() + request.deadline_ms
    this.#timer = new PatientTimer(request.deadline_ms, () => this.#giveUp())
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#isLate) controller.abort(tooLate())
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return // an informational response, which another follows
    this.#head = { status, headers }
    this.#timer.clear()
    this.#timer = new PatientTimer(Math.min(BODY_MS, this.#ends_at - performance.now()), () => this.#giveUp())
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#size += chunk.length
    if (this.#size > this.#max) this.#end(false)
  }

  onResponseEnd(): void {
    this.#end(true)
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error)
  }

  #giveUp(): void {
    this.#isLate = true
    this.#fail(tooLate())
    this.#controller?.abort(tooLate())
  }

  /** The headers remain valid even if the body fails. */
  #fail(error: Error): void {
    if (this.#head) this.#end(false)
    this.#timer.clear()
    this.#reject(error)
  }

  #end(isWhole: boolean): void {
    if (this.#isEnded || !this.#head) return
    this.#isEnded = true
    this.#timer.clear()
    const { status, headers } = this.#head
    const isPlain = /^(?:identity)?$/i.test(headers['content-encoding'] ?? '')
    this.#resolve({ status, headers, body: isPlain ? Buffer.concat(this.#chunks) : null, isWhole })
    if (!isWhole) this.#controller?.abort(new Error('no more of it is read'))
  }
}

function tooLate(): Error {
  return new DOMException('there was no response in time', 'TimeoutError')
}

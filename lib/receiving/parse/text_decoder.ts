import { Transform, type TransformCallback } from 'node:stream'
import { guessText } from '#lib/mail/parts/guess_text.ts'
import { MAX_TEXT } from './parsed_message.ts'

/** Most bytes of a text. The rest is dropped later anyway, and a longer text would fill the memory of the thread in one step. */
const MAX_BYTES = MAX_TEXT + 1_000_000

/** Decodes a text as a whole, with `decoder` or by guessing its charset. */
export class TextPartDecoder extends Transform {
  readonly #chunks: Buffer[] = []
  readonly #decoder: Transform | null
  #size = 0

  constructor(decoder: Transform | null) {
    super()
    this.#decoder = decoder
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const kept = chunk.subarray(0, MAX_BYTES - this.#size)
    this.#size += kept.length
    if (kept.length > 0) this.#chunks.push(kept)
    done()
  }

  override _flush(done: TransformCallback): void {
    const bytes = Buffer.concat(this.#chunks)
    if (!this.#decoder) {
      done(null, Buffer.from(guessText(bytes)))
      return
    }
    this.#decoder.on('data', text => this.push(text))
    this.#decoder.once('end', () => done())
    this.#decoder.once('error', done)
    this.#decoder.end(bytes)
  }
}

/** Decodes a charset that the platform supports. */
export class PlatformDecoder extends Transform {
  readonly #decoder: InstanceType<typeof TextDecoder>

  constructor(charset: string) {
    super()
    this.#decoder = new TextDecoder(charset)
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    done(null, Buffer.from(this.#decoder.decode(chunk, { stream: true })))
  }

  override _flush(done: TransformCallback): void {
    done(null, Buffer.from(this.#decoder.decode()))
  }
}

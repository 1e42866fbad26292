import { Transform, type TransformCallback } from 'node:stream'
import { guessText, isMostlyUtf8 } from '#lib/mail/parts/guess_text.ts'
import { MAX_TEXT } from './parsed_message.ts'

/** Maximum bytes of a text. The rest is dropped later anyway, and a longer text would fill the memory of the thread in one step. */
const MAX_BYTES = MAX_TEXT + 1_000_000

/** Where HTML names its charset, if anywhere. */
const HEAD_BYTES = 4_096
const META = /<meta\s[^>]*?charset\s*=\s*["']?\s*([\w.:-]{1,40})/i
/** Names that say nothing about bytes that are not UTF-8, or that are no charsets although they can be decoded. */
const USELESS = /^(?:utf|unicode|ucs|us-ascii|binary|base64|hex)/i
const ESCAPE = 0x1b

/** Returns the decoder of a charset, or null if it is unknown or to be guessed. */
export type FindDecoder = (charset: string) => Transform | null

/**
 * Decodes a text as a whole, by its charset. If that is missing, wrong or unknown, HTML may name its own, as the programs do that
 * leave it out of the header; else it is guessed.
 */
export class TextPartDecoder extends Transform {
  readonly #chunks: Buffer[] = []
  readonly #charset: string
  readonly #find: FindDecoder
  #size = 0

  constructor(charset: string, find: FindDecoder) {
    super()
    this.#charset = charset
    this.#find = find
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const kept = chunk.subarray(0, MAX_BYTES - this.#size)
    this.#size += kept.length
    if (kept.length > 0) this.#chunks.push(kept)
    done()
  }

  override _flush(done: TransformCallback): void {
    const bytes = Buffer.concat(this.#chunks)
    const named = charsetInHtml(bytes)
    const decoder = this.#find(this.#charset) ?? (named === null ? null : this.#find(named))
    if (!decoder) {
      done(null, Buffer.from(guessText(bytes)))
      return
    }
    decoder.on('data', text => this.push(text))
    decoder.once('end', () => done())
    decoder.once('error', done)
    decoder.end(bytes)
  }
}

/** Returns the charset that the head of HTML names, unless the bytes are UTF-8. ISO-2022-JP could be, but for its escapes. */
function charsetInHtml(bytes: Buffer): string | null {
  if (isMostlyUtf8(bytes) && !bytes.includes(ESCAPE)) return null
  const [, charset] = META.exec(bytes.toString('latin1', 0, HEAD_BYTES)) ?? []
  return charset === undefined || USELESS.test(charset) ? null : charset
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

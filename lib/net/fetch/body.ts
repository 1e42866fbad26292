import type { IncomingHttpHeaders } from 'node:http'
import { detailOf, FetchError } from './error.ts'

export type BodyLimits = {
  /** Maximum bytes of the body. A longer one fails or, with `excess: 'cut'`, ends there. */
  max_bytes: number
  excess?: 'refuse' | 'cut'
  signal?: AbortSignal | undefined
}

type Response = { headers: IncomingHttpHeaders; body: AsyncIterable<Buffer> }

/**
 * Yields a body within its limits, in the chunks of the connection, of at most 64 KB, which wait for the reader. A compressed
 * body is rejected, since we ask for none (`Accept-Encoding: identity`, RFC 9110 section 12.5.3): without a decoder there are no
 * decompression bombs, and the limit counts the bytes of the connection.
 *
 * @throws {FetchError} while it is read, so that the status and headers are known first
 */
export async function* boundedBody(response: Response, limits: BodyLimits, close: () => void): AsyncGenerator<Buffer> {
  const { max_bytes, signal } = limits
  const isCut = limits.excess === 'cut'
  let left = max_bytes
  try {
    refuseEncoded(response.headers)
    if (!isCut && Number(response.headers['content-length']) > max_bytes) throw tooLarge(max_bytes)
    for await (const chunk of response.body) {
      if (!isCut && chunk.length > left) throw tooLarge(max_bytes)
      yield chunk.subarray(0, left)
      left -= chunk.length
      if (isCut && left <= 0) return
    }
  } catch (error) {
    signal?.throwIfAborted()
    throw error instanceof FetchError ? error : brokenOff(error)
  } finally {
    close()
  }
}

function refuseEncoded(headers: IncomingHttpHeaders): void {
  const content = headers['content-encoding'] ?? 'identity'
  const transfer = headers['transfer-encoding'] ?? 'chunked'
  if (content.toLowerCase() === 'identity' && transfer.toLowerCase() === 'chunked') return
  const detail = `content-encoding ${content}, transfer-encoding ${transfer}`
  throw new FetchError('The URL responded with compressed content.', detail, { is_permanent: true })
}

function tooLarge(max_bytes: number): FetchError {
  const detail = `more than ${max_bytes} bytes`
  return new FetchError('The URL responded with too much.', detail, { is_permanent: true })
}

/** Makes the error for a body that broke off. The connection was allowed, so details reveal nothing about our network. */
function brokenOff(error: unknown): FetchError {
  const isSlow = (error as Error).name === 'TimeoutError'
  const reason = isSlow ? 'The URL responded too slowly.' : 'The response of the URL broke off.'
  return new FetchError(reason, detailOf(error), { is_permanent: false, cause: error })
}

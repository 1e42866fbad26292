import { addAbortSignal, type Readable } from 'node:stream'

/**
 * Yields the lines of a stream of UTF-8, without their LF or CRLF and without a byte order mark. Lines of `node:readline` also
 * end at U+2028 and U+2029, which JSON may contain.
 */
export async function* linesOf(input: Readable, signal: AbortSignal): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let begun: string[] = []
  for await (const chunk of addAbortSignal(signal, input)) {
    const [end = '', ...others] = decoder.decode(chunk, { stream: true }).split('\n')
    begun.push(end)
    for (const begin of others) {
      yield joined(begun)
      begun = [begin]
    }
  }
  const last = joined([...begun, decoder.decode()])
  if (last !== '') yield last
}

function joined(pieces: string[]): string {
  return pieces.join('').replace(/\r$/, '')
}

import { GrowingBuffer } from '#lib/files/upload/growing_buffer.ts'

/** The parser of formidable, which passes on the data of a part in pieces (parsers/Multipart.js). */
type Parser = {
  _handleCallback(name: string, buffer?: Buffer, start?: number, end?: number): void
  _transform(chunk: Buffer, encoding: string, done: (error?: Error) => void): void
}

/**
 * The parser holds back bytes at the end of a chunk that may begin a boundary. They are fewer than this, since a boundary is shorter
 * than the headers, which contain it.
 */
const MAX_HELD = 64 * 1024

/**
 * A plugin of formidable, which writes the data of each chunk at once. Its parser ends a piece wherever a boundary could begin, which
 * is at every carriage return, and keeps an object per piece until it is written: 5 MB of them took 1.2 GB of memory and a minute,
 * in which no other request got a response for 20 seconds.
 */
export function joinPieces(form: object): void {
  const { _parser: parser } = form as { _parser?: Parser }
  if (!parser) return // the form has no boundary
  const pass = parser._handleCallback.bind(parser)
  const transform = parser._transform.bind(parser)
  let data = new GrowingBuffer(0)
  const flush = () => {
    const { length } = data
    if (length > 0) pass('partData', data.take(), 0, length)
  }
  parser._handleCallback = (name, buffer, start, end) => {
    if (name === 'partData' && buffer) return data.append(buffer, start, end)
    flush()
    pass(name, buffer, start, end)
  }
  parser._transform = (chunk, encoding, done) => {
    data = new GrowingBuffer(chunk.length + MAX_HELD)
    transform(chunk, encoding, error => {
      flush()
      done(error)
    })
  }
}

const CR = 13
const LF = 10
const CRLF = Buffer.from('\r\n')

/** Converts every lone CR and LF to CRLF, in bytes that arrive in pieces of any size. */
export class LineEnds {
  #endsInCr = false

  push(piece: Buffer): Buffer {
    if (piece.length === 0 || (!this.#endsInCr && isNormal(piece))) return piece
    const parts: Buffer[] = []
    let start = 0
    if (this.#endsInCr) {
      parts.push(CRLF)
      if (piece[0] === LF) start = 1
    }
    this.#endsInCr = piece[piece.length - 1] === CR
    const end = piece.length - (this.#endsInCr ? 1 : 0)
    for (let i = start; i < end; i++) {
      const byte = piece[i]
      if (byte !== CR && byte !== LF) continue
      if (byte === CR && piece[i + 1] === LF) {
        i++
        continue
      }
      parts.push(piece.subarray(start, i), CRLF)
      start = i + 1
    }
    if (parts.length === 0) return end === piece.length ? piece : piece.subarray(0, end)
    parts.push(piece.subarray(start, end))
    return Buffer.concat(parts)
  }

  /** Returns the rest of the last piece. */
  end(): Buffer {
    const rest = this.#endsInCr ? CRLF : Buffer.alloc(0)
    this.#endsInCr = false
    return rest
  }
}

/** Tells whether every LF follows a CR and every CR precedes an LF, as nearly always. The test is faster than the conversion. */
function isNormal(piece: Buffer): boolean {
  const text = piece.toString('latin1')
  for (let start = 0; ; ) {
    const cr = text.indexOf('\r', start)
    if (text.indexOf('\n', start) !== (cr < 0 ? cr : cr + 1)) return false
    if (cr < 0) return true
    start = cr + 2
  }
}

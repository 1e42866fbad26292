/** Html of an email in a long batch, stored as a blob while it arrived. In a fingerprint it stands for the text. */
export class LongHtml {
  /** Hex. */
  readonly sha256: string
  /** Bytes. */
  readonly size: number
  readonly #blob_id: string

  constructor({ id, sha256, size }: { id: string; sha256: string; size: number }) {
    this.sha256 = sha256
    this.size = size
    this.#blob_id = id
  }

  /** Not a part of the fingerprint: the same text may be stored anew. */
  get blob_id(): string {
    return this.#blob_id
  }
}

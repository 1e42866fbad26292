/** Html of an email in a long batch, stored as a blob while it arrived. In a fingerprint it stands for the text. */
export class LongHtml {
  /** Hex. */
  readonly sha256: string
  /** Bytes. */
  readonly size: number
  /** True if it has the name of a link that differs for each recipient (lib/templates/personal_links.ts). */
  readonly mentions_link: boolean
  readonly #blob_id: string

  constructor({ id, sha256, size }: { id: string; sha256: string; size: number }, mentions_link: boolean) {
    this.sha256 = sha256
    this.size = size
    this.mentions_link = mentions_link
    this.#blob_id = id
  }

  /** Not a part of the fingerprint: the same text may be stored anew. */
  get blob_id(): string {
    return this.#blob_id
  }
}

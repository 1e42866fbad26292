import { createHash } from 'node:crypto'
import type { PollForm } from '#lib/polls/new_poll.ts'
import { pollHtml } from '#lib/polls/poll_block.ts'

/** Html of an email in a long batch, stored as a blob while it arrived. In a fingerprint it replaces the text. */
export class LongHtml {
  /** Hex. */
  readonly sha256: string
  /** Bytes. */
  readonly size: number
  /** True if it contains the name of a link that differs per recipient (lib/templates/personal_links.ts). */
  readonly mentions_link: boolean
  /** Inserted whenever the html is read. */
  readonly poll: PollForm | null
  readonly #blob_id: string

  constructor(
    { id, sha256, size }: { id: string; sha256: string; size: number },
    mentions_link: boolean,
    poll: PollForm | null = null,
  ) {
    this.sha256 = sha256
    this.size = size
    this.mentions_link = mentions_link
    this.poll = poll
    this.#blob_id = id
  }

  /** Not part of the fingerprint, since the same text may be stored again. */
  get blob_id(): string {
    return this.#blob_id
  }

  /** Returns the same html with a poll. */
  withPoll(poll: PollForm): LongHtml {
    const sha256 = createHash('sha256')
      .update(`${this.sha256} ${JSON.stringify(poll)}`)
      .digest('hex')
    const size = this.size + Buffer.byteLength(pollHtml(poll))
    return new LongHtml({ id: this.#blob_id, sha256, size }, true, poll)
  }
}

/** An address as it was written; `address` may be anything a stranger wrote there. */
export type ParsedAddress = { name: string; address: string }

/** A part that is not the text of the message, messages within it among them. */
export type ParsedFile = {
  /** One that is safe to save under. */
  filename: string | null
  /** In lower case; without parameters but the method of a calendar. */
  content_type: string
  disposition: 'attachment' | 'inline'
  /** Without the angle brackets. */
  content_id: string | null
  content: Uint8Array<ArrayBuffer>
}

/** What a message says, decoded: every text is Unicode without halves of characters and NUL. */
export type ParsedMessage = {
  from: ParsedAddress | null
  /** All of From, `from` the first of them (RFC 5322 section 3.6.2). */
  authors: ParsedAddress[]
  /** The mailbox of the Sender field. */
  sender: ParsedAddress | null
  to: ParsedAddress[]
  cc: ParsedAddress[]
  bcc: ParsedAddress[]
  reply_to: ParsedAddress[]
  subject: string
  message_id: string | null
  /**
   * By name in lower case, as they were written but unfolded; the values of one name that comes more than once are on
   * lines of their own, the topmost first.
   */
  headers: Record<string, string>
  html: string | null
  text: string | null
  files: ParsedFile[]
  /** What was left out of it, in plain words. */
  cut: string | null
}

/** `raw` is handed back, since it was given away. `refused` says in plain words why the message cannot be read. */
export type Parsed = { raw: Uint8Array<ArrayBuffer> } & ({ message: ParsedMessage } | { refused: string })

/** More of a list field (To, Cc ...) is not kept, nor more names of headers. */
export const MAX_ENTRIES = 1_000
/** Characters of a text or HTML; the rest is in the raw message only. */
export const MAX_TEXT = 10_000_000

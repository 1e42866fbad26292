/** An address as it was written. `address` may be any text of the sender. */
export type ParsedAddress = { name: string; address: string }

/** A part that is not the text of the message, including messages within it. */
export type ParsedFile = {
  /** Safe as a name to save the file under. */
  filename: string | null
  /** In lower case, without parameters except the method of a calendar. */
  content_type: string
  /** As it was declared; null if it was not, or the file is not text. */
  charset: string | null
  disposition: 'attachment' | 'inline'
  /** Without angle brackets. */
  content_id: string | null
  content: Uint8Array<ArrayBuffer>
}

/** A decoded message. All texts are Unicode without lone surrogates and NUL. */
export type ParsedMessage = {
  from: ParsedAddress | null
  /** All authors; `from` is the first of them (RFC 5322 section 3.6.2). */
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
   * Values by name in lower case, as they were written but unfolded. Values of a repeated name are on separate lines, the topmost
   * first.
   */
  headers: Record<string, string>
  html: string | null
  text: string | null
  files: ParsedFile[]
  /** The parts that were left out, described in sentences. */
  cut: string | null
}

/** `raw` is moved back to the caller. `refused` is a sentence that says why the message cannot be parsed. */
export type Parsed = { raw: Uint8Array<ArrayBuffer> } & ({ message: ParsedMessage } | { refused: string })

/** Further entries of a list field (To, Cc ...) are dropped, and so are further names of headers. */
export const MAX_ENTRIES = 1_000
/** Maximum characters of a text or HTML; the rest is only in the raw message. */
export const MAX_TEXT = 10_000_000

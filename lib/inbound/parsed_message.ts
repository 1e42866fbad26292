/** An address as it was written; `address` may be anything a stranger wrote there. */
export type ParsedAddress = { name: string; address: string }

/** A part that is not the text of the message. */
export type ParsedFile = {
  filename: string | null
  content_type: string
  disposition: 'attachment' | 'inline'
  /** Without the angle brackets. */
  content_id: string | null
  content: Uint8Array
}

/** What a message says, decoded: every text is Unicode without halves of characters and NUL. */
export type ParsedMessage = {
  from: ParsedAddress | null
  to: ParsedAddress[]
  cc: ParsedAddress[]
  bcc: ParsedAddress[]
  reply_to: ParsedAddress[]
  subject: string
  message_id: string | null
  /** By name in lower case; the values of one name that comes more than once are on lines of their own. */
  headers: Record<string, string>
  html: string | null
  text: string | null
  files: ParsedFile[]
}

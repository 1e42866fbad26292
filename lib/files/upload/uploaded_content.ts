import { decodeBase64 } from './base64_decoder.ts'

/** The `content` of an attachment: bytes in memory, or a blob that was stored while they arrived. */
export type ContentSource = { bytes: Buffer } | { blob_id: string }

/** The content of a file in a request. In a fingerprint it replaces the text in which it was sent. */
export class UploadedContent {
  /** Hex. */
  readonly sha256: string
  /** Bytes. */
  readonly size: number
  readonly #source: ContentSource

  constructor(sha256: string, size: number, source: ContentSource) {
    this.sha256 = sha256
    this.size = size
    this.#source = source
  }

  get source(): ContentSource {
    return this.#source
  }
}

/** Replaces the invalid `content` of an attachment. `fault` follows the name of the field: "must be base64 ...". */
export class WrongContent {
  readonly fault: string

  constructor(fault: string) {
    this.fault = fault
  }
}

/** Decodes the files of a complete body. */
export function decodeContents(body: unknown): void {
  replaceContents(body, text => {
    const decoded = decodeBase64(text)
    if ('fault' in decoded) return new WrongContent(decoded.fault)
    return new UploadedContent(decoded.sha256.toString('hex'), decoded.size, { bytes: decoded.bytes })
  })
}

type Attached = { attachments?: unknown }

/**
 * Replaces the `content` of each attachment in the body of a send, single or batch, if it is a string, or a Buffer as JSON.stringify
 * writes it. Older versions of the resend package send files in this form.
 */
export function replaceContents(body: unknown, replace: (text: string) => unknown): void {
  for (const email of Array.isArray(body) ? body : [body]) {
    const attachments = (email as Attached | null)?.attachments
    if (!Array.isArray(attachments)) continue
    for (const attachment of attachments) {
      const content = attachment?.content
      const text = content?.type === 'Buffer' ? content.data : content
      if (typeof text === 'string') attachment.content = replace(text)
    }
  }
}

/** Replaces the `html` of each email in the body of a batch, if it is a string. */
export function replaceHtml(body: unknown, replace: (text: string) => unknown): void {
  for (const email of Array.isArray(body) ? body : []) {
    if (typeof email?.html === 'string') email.html = replace(email.html)
  }
}

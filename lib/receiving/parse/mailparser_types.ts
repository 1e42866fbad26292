import type { Readable, Transform } from 'node:stream'

export type Line = { key: string; line: string }
export type Mailbox = { name: string; address?: string; group?: Mailbox[] }
type Addresses = { value: Mailbox[] }

export type HeaderValues = {
  from?: Addresses
  sender?: Addresses
  to?: Addresses | Addresses[]
  cc?: Addresses | Addresses[]
  bcc?: Addresses | Addresses[]
  'reply-to'?: Addresses
  subject?: string
  'content-id'?: string
}

export type FoundFile = {
  type: 'attachment'
  content: Readable
  filename?: string
  cid?: string
  headers: Map<string, unknown>
  release(): void
}

export type FoundText = { type: 'text'; text: string | null; html: string | null }

/** A part as mailsplit describes it. */
export type Split = {
  parentNode: Split | false
  contentType: string | false
  charset: string | false
  root: boolean
  encoding: string | false
  disposition: string | false
  filename: string | false
  flowed: boolean
  delSp: boolean
  headers: { hasHeader(name: string): boolean; get(name: string): string[] }
  getDecoder(): Transform
  _parsedContentType: { params: Record<string, string> }
}

/** The node that mailparser makes of a part. */
export type Node = {
  headers: Map<string, unknown>
  contentType: string
  charset?: string
  textContent?: string
  flow: { delSp: boolean } | null
  children: Node[]
}

export type Decoder = { decodeStream(charset: string): Transform }

/** The parts of mailparser 3.9.31 that are overridden here. Nothing else of its internals is used. */
export type Internals = Omit<Transform, typeof Symbol.asyncIterator> & {
  tree: Node | false
  headers: Map<string, unknown> | false
  getDecoder(): Decoder
  processHeaders(lines: Line[]): Map<string, unknown>
  decodeAddresses(mailboxes: Mailbox[]): void
  createNode(split: Split): Node
  getTextContent(): FoundText
  [Symbol.asyncIterator](): AsyncIterableIterator<FoundFile | FoundText>
}

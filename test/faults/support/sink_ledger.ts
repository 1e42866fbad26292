import { hash } from 'node:crypto'
import { closeSync, openSync, writeSync } from 'node:fs'

/** A message accepted for one recipient. `time` is in ms since 1970. */
export type Entry = {
  time: number
  mail_from: string
  rcpt: string
  message_id: string
  body_sha256: string
  /** The hash of everything but the DKIM-Signature fields, which a second signing may change. */
  message_sha256: string
  /** The hash of each file in it, decoded. */
  files_sha256: string[]
}

export type Ledger = {
  entries: Entry[]
  record(mail_from: string, rcpts: string[], content: Buffer): void
  close(): void
}

/** If there is a file, an entry is written to it as a line of JSON before `record` returns, so that it survives the sender. */
export function openLedger(file?: string): Ledger {
  const entries: Entry[] = []
  const descriptor = file ? openSync(file, 'a') : null
  return {
    entries,
    record(mail_from, rcpts, content) {
      const digest = digestMessage(unstuff(content))
      const added = rcpts.map(rcpt => ({ time: Date.now(), mail_from, rcpt, ...digest }))
      entries.push(...added)
      if (descriptor !== null) writeSync(descriptor, added.map(entry => `${JSON.stringify(entry)}\n`).join(''))
    },
    close: () => descriptor !== null && closeSync(descriptor),
  }
}

/** Undoubles leading dots of lines (RFC 5321, 4.5.2). */
function unstuff(content: Buffer): Buffer {
  if (!content.includes('\r\n..') && !content.subarray(0, 2).equals(Buffer.from('..'))) return content
  return Buffer.from(content.toString('latin1').replace(/(^|\r\n)\.\./g, '$1.'), 'latin1')
}

function digestMessage(message: Buffer): Omit<Entry, 'time' | 'mail_from' | 'rcpt'> {
  const end = message.indexOf('\r\n\r\n')
  const header = message.toString('latin1', 0, end < 0 ? message.length : end + 2)
  const unsigned = header.replace(/^DKIM-Signature:.*\r\n(?:[ \t].*\r\n)*/gim, '')
  const body = message.subarray(end < 0 ? message.length : end + 4)
  return {
    message_id: /^Message-ID:\s*(\S+)/im.exec(header)?.[1] ?? '',
    body_sha256: hash('sha256', body),
    message_sha256: hash('sha256', Buffer.concat([Buffer.from(unsigned, 'latin1'), message.subarray(header.length)])),
    files_sha256: [...filesOf(body)],
  }
}

/** Parts in base64, which end at a boundary. */
function* filesOf(body: Buffer): Iterable<string> {
  for (let at = body.indexOf(ATTACHED); at >= 0; at = body.indexOf(ATTACHED, at + 1)) {
    const start = body.indexOf('\r\n\r\n', at)
    const end = body.indexOf('\r\n--', start)
    yield hash('sha256', Buffer.from(body.toString('latin1', start, end), 'base64'))
  }
}

const ATTACHED = '\r\nContent-Disposition: attachment'

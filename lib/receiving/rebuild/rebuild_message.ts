import type { ReadField } from '#lib/mail/mime/header.ts'
import { type Delimiter, Delimiters } from '#lib/mail/parts/delimiters.ts'
import { MAX_PARTS } from '#lib/mail/parts/limits.ts'
import { type PartHeader, readPartHeader, writePartHeader } from '#lib/mail/parts/part_header.ts'
import { Pieces } from './pieces.ts'

/** The message in pieces, to be read in order, and the fields of its header in UTF-8. */
export type Rebuilt = { pieces: Buffer[]; fields: ReadField[]; notes: string[] }

type Level = { header: PartHeader; piece: number; boundary: string; hasParts: boolean; preamble: Buffer }

const TAB = 9
const LF = 10
const CR = 13
const SPACE = 32
const NOTHING = Buffer.alloc(0)

/**
 * Rewrites a message so that a strict reader finds all its parts: correct delimiter lines with a new boundary that occurs nowhere
 * else in the message, and an empty line after each header. mailparser alone loses parts after delimiter lines with padding,
 * parts without an end, and headers without an empty line.
 *
 * Contents are not copied. Linear in the length of the message.
 */
export function rebuildMessage(raw: Buffer): Rebuilt {
  return new Rebuild(raw.includes(LF) ? raw : withLineFeeds(raw)).run()
}

class Rebuild {
  readonly #raw: Buffer
  readonly #delimiters: Delimiters
  readonly #levels: Level[] = []
  readonly #pieces = new Pieces()
  readonly #notes = new Set<string>()
  #fields: ReadField[] = []
  #count = 0
  /** True if the next bytes are the content of a part, not text before or after the parts. */
  #isContent = false
  /** True if the content belongs to a multipart that declares no boundary. */
  #hasNoBoundary = false

  constructor(raw: Buffer) {
    this.#raw = raw
    this.#delimiters = new Delimiters(raw)
  }

  run(): Rebuilt {
    let at = this.#readPart(0)
    while (this.#count <= MAX_PARTS) {
      const found = this.#delimiters.find(at)
      this.#take(at, found ? this.#contentEnd(at, found.start) : this.#raw.length)
      if (!found) break
      at = this.#pass(found)
    }
    if (this.#count > MAX_PARTS) this.#notes.add(`It has more than ${MAX_PARTS} parts: what follows was not read.`)
    this.#leave(-1)
    return { pieces: this.#pieces.list, fields: this.#fields, notes: [...this.#notes] }
  }

  /** Returns the end of the content before a delimiter line, to which the preceding line end belongs. */
  #contentEnd(from: number, delimiter: number): number {
    let end = delimiter
    if (end > from && this.#raw[end - 1] === LF) end--
    if (end > from && end < delimiter && this.#raw[end - 1] === CR) end--
    return end
  }

  #take(from: number, to: number): void {
    const content = this.#raw.subarray(from, to)
    const level = this.#levels.at(-1)
    if (this.#isContent) {
      this.#pieces.writeContent(content)
      if (this.#hasNoBoundary) this.#noteText(content)
    } else if (level && !level.hasParts && level.preamble === NOTHING) level.preamble = content
    this.#isContent = false
  }

  #pass({ level, isClose, next }: Delimiter): number {
    this.#leave(level)
    this.#delimiters.leave(level, isClose)
    // More parts may follow the last delimiter line, so ours is written when the multipart is left.
    if (isClose) return next
    const entered = this.#levels[level] as Level
    entered.hasParts = true
    if (this.#count === MAX_PARTS) {
      this.#count++
      return next
    }
    this.#pieces.writeDelimiter(entered.boundary)
    return this.#readPart(next)
  }

  /** Parses the header of a part; returns where its content begins. */
  #readPart(start: number): number {
    this.#count++
    const isRoot = start === 0 && this.#count === 1
    const parent = this.#levels.at(-1)?.header.type
    const found = readPartHeader(this.#raw, start, this.#delimiters, {
      isRoot,
      isDigest: parent === 'multipart/digest',
    })
    const { header, body } = found
    if (found.isCut) this.#notes.add('A header has lines that are not fields: they are not shown.')
    if (isRoot) this.#fields = header.fields
    this.#isContent = header.boundary === null
    this.#hasNoBoundary = this.#isContent && header.type.startsWith('multipart/')
    if (header.boundary !== null) {
      const boundary = this.#pieces.newBoundary()
      const piece = this.#pieces.writeHeader(writePartHeader(header, boundary))
      this.#levels.push({ header, piece, boundary, hasParts: false, preamble: NOTHING })
      this.#delimiters.open(header.boundary)
    } else this.#pieces.writeHeader(this.#hasNoBoundary ? writePartHeader(header, null) : header.bytes)
    return body
  }

  #leave(level: number): void {
    while (this.#levels.length > level + 1) {
      const { header, piece, boundary, hasParts, preamble } = this.#levels.pop() as Level
      if (hasParts) this.#pieces.writeDelimiter(`${boundary}--`)
      else {
        this.#pieces.replaceHeader(piece, writePartHeader(header, null))
        this.#pieces.writeContent(preamble)
        this.#noteText(preamble)
      }
    }
  }

  /** Notes that a multipart without parts is shown as text. */
  #noteText(content: Buffer): void {
    if (!isBlank(content)) this.#notes.add('A multipart in it has no parts: it is shown as text.')
  }
}

function isBlank(content: Buffer): boolean {
  return content.every(byte => byte === SPACE || byte === TAB || byte === CR || byte === LF)
}

/** Converts a message whose lines end in CR alone. */
function withLineFeeds(raw: Buffer): Buffer {
  return raw.includes(CR) ? Buffer.from(raw.toString('latin1').replaceAll('\r', '\r\n'), 'latin1') : raw
}

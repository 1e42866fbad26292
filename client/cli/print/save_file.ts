import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import { cliError } from '../errors.ts'
import type { Output } from './output.ts'

/** Writes the body of a response to a file, or to the standard output. */
export async function saveFile(response: Response, path: string | undefined, output: Output): Promise<void> {
  const body = Readable.fromWeb((response.body ?? new Blob([]).stream()) as ReadableStream)
  if (path === undefined) return pipeline(body, process.stdout, { end: false })
  await pipeline(body, createWriteStream(path)).catch(error => {
    throw cliError(`${path} cannot be written: ${error.message}`, error)
  })
  output.note(`Written to ${path}`)
}

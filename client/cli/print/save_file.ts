import { createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import { reasonOf } from '../../source/calls/read_response.ts'
import { MailbrookError } from '../../source/error.ts'
import { cliError } from '../errors.ts'
import type { Output } from './output.ts'

/** Writes the body of a response to a file, or to the standard output. @throws {MailbrookError} `network_error` if it ends early */
export async function saveFile(response: Response, path: string | undefined, output: Output): Promise<void> {
  const body = chunksOf(response)
  if (path === undefined) return pipeline(body, process.stdout, { end: false })
  await pipeline(body, createWriteStream(path)).catch(error => {
    if (error instanceof MailbrookError) throw error
    throw cliError(`${path} cannot be written: ${error.message}`, error)
  })
  output.note(`Written to ${path}`)
}

async function* chunksOf({ body }: Response): AsyncGenerator<Uint8Array> {
  try {
    if (body) yield* body as ReadableStream<Uint8Array>
  } catch (error) {
    throw new MailbrookError(0, 'network_error', `The download ended early: ${reasonOf(error)}`, { cause: error })
  }
}

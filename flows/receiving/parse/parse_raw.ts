import type { Blobs } from '#flows/files/blobs.ts'
import { EndedThreadError } from '#lib/async/threads.ts'
import { parseMessage } from '#lib/receiving/parse/parse_message.ts'
import type { Parsed } from '#lib/receiving/parse/parsed_message.ts'
import type { EmailToParse } from '#sql/receiving/emails_to_parse.ts'

/** A thread may also have ended because the machine was busy. */
const TRIES = 2

/** Nothing is lost of a message that ended its thread: it is read from the store again. */
export async function parseRaw(blobs: Blobs, email: EmailToParse): Promise<Parsed> {
  for (let tries = 1; ; tries++) {
    const raw = await readRaw(blobs, email)
    try {
      return await parseMessage(raw)
    } catch (error) {
      if (tries < TRIES) continue
      if (!(await canParse())) throw error // nothing can be read here: it is not this message's fault
      const refused = error instanceof EndedThreadError ? error.message : `It could not be read: ${error}`
      return { raw: await readRaw(blobs, email), refused }
    }
  }
}

async function canParse(): Promise<boolean> {
  return parseMessage(new Uint8Array(Buffer.from('Subject: x\r\n\r\nx'))).then(
    () => true,
    () => false,
  )
}

/** Into a buffer of its own, which can be handed to a thread. */
async function readRaw(
  blobs: Blobs,
  { account_id, raw_blob_id, size }: EmailToParse,
): Promise<Uint8Array<ArrayBuffer>> {
  const raw = new Uint8Array(size)
  let length = 0
  for await (const chunk of blobs.read(account_id, raw_blob_id)) {
    raw.set(chunk, length)
    length += chunk.length
  }
  if (length !== size) throw new Error(`a raw message has ${length} bytes, not ${size}`)
  return raw
}

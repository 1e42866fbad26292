import type { Blobs } from '#flows/files/blobs.ts'
import { EndedThreadError } from '#lib/async/threads.ts'
import { parseMessage } from '#lib/receiving/parse/parse_message.ts'
import type { Parsed } from '#lib/receiving/parse/parsed_message.ts'
import type { EmailToParse } from '#sql/receiving/emails_to_parse.ts'

/** Tries per message: a thread may also end because the machine is busy. */
const TRIES = 2

/** Parses a message in a thread. If the thread ends, the message is read from the store again. */
export async function parseRaw(blobs: Blobs, email: EmailToParse): Promise<Parsed> {
  for (let tries = 1; ; tries++) {
    const raw = await readRaw(blobs, email)
    try {
      return await parseMessage(raw)
    } catch (error) {
      if (tries < TRIES) continue
      if (!(await canParse())) throw error // no message can be parsed here, so this one is not at fault
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

/** Reads the message into a separate buffer, which can be transferred to a thread. */
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

import type { IncomingMessage } from 'node:http'
import { readBytes } from '#api/bodies/read_body.ts'

/** A form with a thousand topics is smaller. */
const MAX_BYTES = 128 * 1024

/**
 * Reads the fields of a form: multipart/form-data or application/x-www-form-urlencoded, of known length or chunked. A body
 * that is no form has none, and no body either.
 *
 * @throws {ApiError} `validation_error` for a body that is too large or did not arrive whole
 */
export async function readForm(request: IncomingMessage): Promise<FormData> {
  const bytes = await readBytes(request, MAX_BYTES)
  const type = request.headers['content-type'] ?? ''
  if (bytes.length === 0 || !/^(multipart\/form-data|application\/x-www-form-urlencoded)\b/i.test(type))
    return new FormData()
  const body = new Response(new Uint8Array(bytes), { headers: { 'content-type': type } })
  return body.formData().catch(() => new FormData())
}

/** The values of a field; a file is none. */
export function textsOf(form: FormData, name: string): string[] {
  return form.getAll(name).filter(value => typeof value === 'string')
}

import type { IncomingMessage } from 'node:http'
import { readBytes } from '#api/bodies/read_body.ts'

/** Enough for a form with 1,000 topics. */
const MAX_BYTES = 128 * 1024

/**
 * Reads the fields of a form: multipart/form-data or application/x-www-form-urlencoded, of known length or chunked. Returns no
 * fields if the body is not a form, or if there is none.
 *
 * @throws {ApiError} `validation_error` for a body that is too large or did not arrive completely
 */
export async function readForm(request: IncomingMessage): Promise<FormData> {
  const bytes = await readBytes(request, MAX_BYTES)
  const type = request.headers['content-type'] ?? ''
  if (bytes.length === 0 || !/^(multipart\/form-data|application\/x-www-form-urlencoded)\b/i.test(type))
    return new FormData()
  const body = new Response(new Uint8Array(bytes), { headers: { 'content-type': type } })
  return body.formData().catch(() => new FormData())
}

/** Returns the values of a field, without files. */
export function textsOf(form: FormData, name: string): string[] {
  return form.getAll(name).filter(value => typeof value === 'string')
}

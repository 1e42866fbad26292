import { readImportBody } from '#api/bodies/import_body.ts'
import { readBytes, requireIdentity } from '#api/bodies/read_body.ts'
import type { Context } from '#api/context.ts'
import { ApiError } from '#lib/errors.ts'

const MAX_BYTES = 10 * 1024 * 1024
const MAX_FIELDS = 1_000

/** Values of a form that was sent. */
export class Form {
  readonly #values: URLSearchParams

  constructor(values: URLSearchParams) {
    this.#values = values
  }

  /** The text of a field, without blanks around it; empty if it was not sent. */
  text(name: string): string {
    return (this.#values.get(name) ?? '').trim()
  }

  /** The text as it was typed. */
  raw(name: string): string {
    return (this.#values.get(name) ?? '').replaceAll('\r\n', '\n')
  }

  /** The text, or undefined for an empty field: the operation uses its default. */
  given(name: string): string | undefined {
    return this.text(name) || undefined
  }

  /** The text, or null for an empty field. */
  orNull(name: string): string | null {
    return this.text(name) || null
  }

  /** The value of a property or a variable of that type; null for an empty field. The operation refuses what is no number. */
  typed(name: string, type: string): string | number | null {
    const text = this.text(name)
    return type === 'number' && text !== '' && Number.isFinite(Number(text)) ? Number(text) : text || null
  }

  /** All values of a field that has several, such as checkboxes. */
  all(name: string): string[] {
    return this.#values.getAll(name).filter(value => value !== '')
  }

  /** True if a field was sent, or a checkbox was ticked. */
  has(name: string): boolean {
    return this.#values.has(name)
  }

  /** Addresses and other values that are written with commas, or one per line. */
  list(name: string): string[] {
    return this.raw(name)
      .split(/[\n,]/)
      .map(value => value.trim())
      .filter(Boolean)
  }

  /** An object or list that is written as JSON; undefined for an empty field. @throws {ApiError} `validation_error` */
  json(name: string): unknown {
    const text = this.text(name)
    if (!text) return undefined
    try {
      return JSON.parse(text)
    } catch (cause) {
      throw new ApiError('validation_error', `\`${name}\` must be valid JSON.`, { cause })
    }
  }
}

export const EMPTY_FORM = new Form(new URLSearchParams())

/**
 * Reads the body of a form that the browser sent. A file in it is stored while it arrives, as operations take it (`ctx.state.file`).
 *
 * @throws {ApiError}
 */
export async function readForm(ctx: Context): Promise<Form> {
  if (ctx.is('multipart')) return readFormWithFile(ctx)
  requireIdentity(ctx.req)
  const values = new URLSearchParams((await readBytes(ctx.req, MAX_BYTES)).toString())
  if (values.size > MAX_FIELDS) throw new ApiError('validation_error', `A form has at most ${MAX_FIELDS} fields.`)
  return new Form(values)
}

async function readFormWithFile(ctx: Context): Promise<Form> {
  await readImportBody(ctx, async () => {})
  const fields = Object.entries(ctx.state.body as Record<string, unknown>).filter(([name]) => name !== 'file')
  return new Form(new URLSearchParams(fields.map(([name, value]): [string, string] => [name, String(value)])))
}

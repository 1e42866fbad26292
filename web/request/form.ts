import { readImportBody } from '#api/bodies/import_body.ts'
import { readBytes, requireIdentity } from '#api/bodies/read_body.ts'
import type { Context } from '#api/context.ts'
import { ApiError } from '#lib/errors.ts'

const MAX_BYTES = 10 * 1024 * 1024
const MAX_FIELDS = 1_000

/** The submitted values of a form. */
export class Form {
  readonly #values: URLSearchParams

  constructor(values: URLSearchParams) {
    this.#values = values
  }

  /** The trimmed text of a field; empty if it was not sent. */
  text(name: string): string {
    return (this.#values.get(name) ?? '').trim()
  }

  /** The text as it was typed, with `\n` as line break. */
  raw(name: string): string {
    return (this.#values.get(name) ?? '').replaceAll('\r\n', '\n')
  }

  /** The text, or undefined for an empty field, so that the operation uses its default. */
  optional(name: string): string | undefined {
    return this.text(name) || undefined
  }

  /** The text, or null for an empty field. */
  textOrNull(name: string): string | null {
    return this.text(name) || null
  }

  /**
   * The value of a property or a variable of this type; null for an empty field. The operation rejects text for a number. A field
   * that still shows the `stored` value keeps it: the value may be empty text, or have blanks or line breaks.
   */
  propertyValue(name: string, type: string, stored: string | number | null = null): string | number | null {
    if (typeof stored === type && this.raw(name) === String(stored).replaceAll(/[\r\n]/g, '')) return stored
    const text = this.text(name)
    return type === 'number' && text !== '' && Number.isFinite(Number(text)) ? Number(text) : text || null
  }

  /** All values of a repeated field, such as checkboxes. */
  all(name: string): string[] {
    return this.#values.getAll(name).filter(value => value !== '')
  }

  /** True if a field was sent, or a checkbox was ticked. */
  has(name: string): boolean {
    return this.#values.has(name)
  }

  /** Replaces the value of a field. If the form is rejected later, its page shows the new one. */
  replace(name: string, value: string): void {
    this.#values.set(name, value)
  }

  /** The names and values of all fields, in order. */
  entries(): [name: string, value: string][] {
    return [...this.#values]
  }

  /** Values separated by line breaks. */
  lines(name: string): string[] {
    return trimAll(this.raw(name).split('\n'))
  }

  /** Values separated by commas or line breaks. */
  list(name: string): string[] {
    return trimAll(this.raw(name).split(/[\n,]/))
  }

  /** Addresses separated by commas or line breaks. A name in quotes may have commas; a quote that is not closed ends with its line. */
  addresses(name: string): string[] {
    return trimAll(this.raw(name).match(/(?:"(?:\\.|[^"\\\n])*"?|[^",\n])+/g) ?? [])
  }

  /** The value of a JSON field; undefined for an empty field. @throws {ApiError} `validation_error` */
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

function trimAll(values: string[]): string[] {
  return values.map(value => value.trim()).filter(Boolean)
}

export const EMPTY_FORM = new Form(new URLSearchParams())

/** Limit of the forms that are read before anybody has signed in. */
const MAX_SHORT_BYTES = 64 * 1024

/** Limit of those that are kept until somebody has signed in again. As a field of another form, they are longer by a third. */
export const MAX_KEPT_BYTES = 1024 * 1024
export const MAX_KEEPING_BYTES = MAX_KEPT_BYTES + MAX_KEPT_BYTES / 2

/** Reads a short form without files, from anybody. @throws {ApiError} */
export async function readShortForm(ctx: Context, max_bytes = MAX_SHORT_BYTES): Promise<Form> {
  return new Form(await readFields(ctx, max_bytes))
}

/**
 * Reads a submitted form. A file in it is stored while it arrives, in `ctx.state.file`, where operations expect it.
 *
 * @throws {ApiError}
 */
export async function readForm(ctx: Context): Promise<Form> {
  if (ctx.is('multipart')) return readFormWithFile(ctx)
  return new Form(await readFields(ctx, MAX_BYTES))
}

/** The fields of requests that have been read: the page about an error that came later keeps them. */
const fieldsRead = new WeakMap<object, URLSearchParams>()

async function readFields(ctx: Context, max_bytes: number): Promise<URLSearchParams> {
  const read = fieldsRead.get(ctx.req)
  if (read) return read
  requireIdentity(ctx.req)
  const values = new URLSearchParams((await readBytes(ctx.req, max_bytes)).toString())
  fieldsRead.set(ctx.req, values)
  if (values.size > MAX_FIELDS) throw new ApiError('validation_error', `A form must have at most ${MAX_FIELDS} fields.`)
  for (const [name, value] of values) {
    // Operations check this while they read the body of a request, which a form replaces.
    if (value.includes('\0')) throw new ApiError('validation_error', `\`${name}\` contains a NUL character.`)
  }
  return values
}

async function readFormWithFile(ctx: Context): Promise<Form> {
  await readImportBody(ctx, async () => {})
  const fields = Object.entries(ctx.state.body as Record<string, unknown>).filter(([name]) => name !== 'file')
  return new Form(new URLSearchParams(fields.map(([name, value]): [string, string] => [name, String(value)])))
}

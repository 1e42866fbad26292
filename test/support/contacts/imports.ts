import type { Importer } from '#flows/contacts/import/importer.ts'
import type { Api } from '#test/support/api.ts'
import { waitUntil } from '#test/support/wait_until.ts'

/** An import, or an error, as returned by the API. */
export type AnsweredImport = {
  id: string
  status: string
  counts: Record<'total' | 'created' | 'updated' | 'skipped' | 'failed', number>
  errors: { row: number; line: number; message: string }[]
  completed_at: string | null
  message: string
}

/** Imports files by the API and waits until they are merged. */
export class Imports {
  readonly #api: Api
  readonly #key: string
  readonly #importer: Importer

  constructor(api: Api, key: string, importer: Importer) {
    this.#api = api
    this.#key = key
    this.#importer = importer
  }

  /** Imports text in a JSON body. Returns the finished import, or the error. */
  async ofText(csv: string, more: object = {}): Promise<AnsweredImport> {
    const asked = { body: { csv, ...more }, key: this.#key }
    const { status, body } = await this.#api.request('POST', '/api/contacts/imports', asked)
    return status === 201 ? this.finish(body.id) : (body as unknown as AnsweredImport)
  }

  /** Imports a file in a form, like browsers and curl. */
  async ofFile(file: Buffer, fields: Record<string, string> = {}): Promise<AnsweredImport> {
    const form = new FormData()
    for (const [name, value] of Object.entries(fields)) form.set(name, value)
    form.set('file', new Blob([file], { type: 'text/csv' }), 'contacts.csv')
    const headers = { authorization: `Bearer ${this.#key}`, 'user-agent': 'test' }
    const response = await fetch(`${this.#api.url}/api/contacts/imports`, { method: 'POST', headers, body: form })
    const body = (await response.json()) as AnsweredImport
    return response.status === 201 ? this.finish(body.id) : body
  }

  async finish(id: string): Promise<AnsweredImport> {
    await this.#importer.offer([id])
    const ended = await waitUntil(async () => {
      await this.#importer.idle()
      const found = await this.find(id)
      return found.completed_at && found
    }, 'the import has ended')
    // After an import the importer looks for others: it must not find one later that a test leaves waiting.
    await this.#importer.offer([])
    return ended
  }

  async find(id: string): Promise<AnsweredImport> {
    return (await this.#api.request('GET', `/api/contacts/imports/${id}`, { key: this.#key }))
      .body as unknown as AnsweredImport
  }
}

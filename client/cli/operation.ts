/** A value that a request takes, as an option of its command: `--reply-to a@b.com`. */
export type Option = {
  /** Its name in the API, such as `reply_to`. */
  name: string
  /** `list`: may be given several times. `json`: is JSON. `file`: is a path. `flag`: takes no value. */
  type: 'string' | 'number' | 'boolean' | 'list' | 'json' | 'file' | 'flag'
  description: string
  values?: string[]
  required?: boolean
  short?: string
}

/** An operation of the API, as a command. */
export type Operation = {
  /** `contacts imports create` */
  words: string[]
  /** Its method in the client: `contacts`, `imports`, `create`. */
  method: string[]
  /** `POST /contacts/imports` */
  route: string
  summary: string
  description?: string
  ids: { name: string; description: string }[]
  query: Option[]
  /** Members of the body; missing if the operation takes none. */
  body?: Option[]
  kind: 'record' | 'page' | 'file'
  is_keyed?: boolean
}

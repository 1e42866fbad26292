/** Options of one call. */
export type Options = {
  /** Ends the call, its retries and the waits between them. */
  signal?: AbortSignal
  /** Milliseconds that each try may take. Default: that of the client. */
  timeout?: number
  /** How often a call that failed for the moment is tried again. Default: that of the client. */
  retries?: number
  /** Headers added to the request. */
  headers?: Record<string, string>
}

export type KeyedOptions = Options & {
  /** A call that is repeated with the same key takes effect once. Default: a random key, kept through all retries. */
  idempotencyKey?: string
}

export type BatchOptions = KeyedOptions & {
  /** `permissive`: invalid emails are left out. `strict`, the default: an invalid one rejects the batch. */
  validation?: 'strict' | 'permissive'
}

/** The contents of a request. */
export type Input = {
  body?: unknown
  query?: object
  /** The API knows idempotency keys here. */
  keyed?: boolean
}

/** Options of one call. */
export type Options = {
  /** Ends the call, its retries and the waits between them. */
  signal?: AbortSignal | undefined
  /** Milliseconds that each try may take. Default: the timeout of the client. */
  timeout?: number | undefined
  /** How often a call is retried after a temporary failure. Default: the retries of the client. */
  retries?: number | undefined
  /** Headers added to the request. */
  headers?: Record<string, string> | undefined
}

export type KeyedOptions = Options & {
  /** Repeated with the same key, a call takes effect once. Default: a random key, which all retries share. */
  idempotencyKey?: string | undefined
}

export type BatchOptions = KeyedOptions & {
  /** `permissive`: invalid emails are left out. `strict` (default): an invalid email rejects the batch. */
  validation?: 'strict' | 'permissive' | undefined
}

/** The contents of a request. */
export type Input = {
  body?: unknown
  query?: object
  /** True if the operation takes an idempotency key. */
  keyed?: boolean
  /** What a DELETE removes: its response if an earlier try, whose response was lost, has done it. */
  removes?: { object: string; id: string }
}

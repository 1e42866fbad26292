import type { JsonPath } from './path_tracker.ts'

export type ExtractOptions = {
  /** Paths to the strings to extract. The root must be an object or an array. */
  paths: readonly JsonPath[]
  /** Those of the paths at which a list of bytes, as numbers, is extracted as well. Default: none. */
  lists?: readonly JsonPath[]
  /** Maximum bytes of the skeleton. */
  max_bytes: number
  max_strings: number
  /** Called with the current length of the skeleton. Nothing more is read until it resolves. */
  onLength?: (bytes: number) => Promise<void>
}

/**
 * Bytes of the string `index`, in order; the last part may be empty. `is_list`: it is a list of these bytes. `is_well_formed`: no
 * lone surrogates so far.
 */
export type StringPart = {
  path: JsonPath
  index: number
  bytes: Buffer
  is_list: boolean
  is_last: boolean
  is_well_formed: boolean
}

/** The text with a placeholder for each string. `indexOf` returns the index for a placeholder, and null for any other value. */
export type Skeleton = { bytes: Buffer; indexOf: (value: unknown) => number | null }

export class TooLargeError extends Error {
  override readonly name = 'TooLargeError'
}

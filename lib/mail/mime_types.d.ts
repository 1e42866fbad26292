declare module 'mime-types' {
  /** The content type of a file name or its extension, without parameters; false when none is known. */
  export function lookup(filename: string): string | false
  /** The usual extension of a content type, without the dot; false when none is known. */
  export function extension(type: string): string | false
}

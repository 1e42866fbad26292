declare module 'mime-types' {
  /** The content type of a file name or its extension, without parameters; false when none is known. */
  export function lookup(filename: string): string | false
}

declare module 'mime-types' {
  /** Returns the content type for a file name or extension, without parameters; false if it is unknown. */
  export function lookup(filename: string): string | false
  /** Returns the usual extension for a content type, without the dot; false if it is unknown. */
  export function extension(type: string): string | false
}

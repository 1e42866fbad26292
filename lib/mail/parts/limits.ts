/** Maximum number of parts of a message; one with more is not parsed. */
export const MAX_PARTS = 1_000
/** Maximum bytes of the headers of one part; a message with more is not parsed. */
export const MAX_HEADERS = 1024 * 1024

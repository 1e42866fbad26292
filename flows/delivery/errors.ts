/** The message can never be sent as it is; the error message says what is wrong with it. */
export class UnsendableError extends Error {}

/**
 * The message could not be composed, for a reason that may pass: out of memory, a file that cannot be fetched now, or a
 * bug of ours.
 */
export class ComposeError extends Error {}

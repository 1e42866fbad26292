/** The message can never be sent as it is; what is wrong with it is the error's message. */
export class UnsendableError extends Error {}

/** It could not be made, for a reason that may pass: out of memory, a file that cannot be fetched now, or a bug of ours. */
export class ComposeError extends Error {}

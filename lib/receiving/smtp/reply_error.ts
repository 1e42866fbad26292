/** A reply to the client. The message begins with the enhanced code (RFC 3463). smtp-server reads `responseCode`. */
export class SmtpReplyError extends Error {
  readonly responseCode: number

  constructor(responseCode: number, message: string, cause?: unknown) {
    super(message, { cause })
    this.responseCode = responseCode
  }
}

/** The report about one recipient. `diagnostic`: the words of the server that refused it, or another text with a reason. */
export type ReportedRecipient = {
  /** In lower case; null if it is not named. */
  address: string | null
  /** The address that the message was first sent to, if it is reported. */
  original: string | null
  /** RFC 3464 2.3.3; only `failed` is a bounce. */
  action: 'failed' | 'delayed' | 'delivered' | 'relayed' | 'expanded'
  /** RFC 3463, such as 5.1.1. */
  status: string | null
  diagnostic: string
  /** The command that the server refused, if the notice names it. */
  command?: 'mail' | 'rcpt'
}

/** A report about a message that was sent. `texts` of a complaint are where our token may be. */
export type Report =
  | { kind: 'delivery'; recipients: ReportedRecipient[] }
  | { kind: 'complaint'; feedback_type: string; texts: string[] }

const ADDRESS = /[^\s<>"'(),;:[\]\\]{1,64}@[^\s<>"'(),;:[\]\\]{1,255}/

/** Returns the first address in a text, in lower case. */
export function findAddress(text: string): string | null {
  const found = ADDRESS.exec(text.slice(0, 2000))?.[0]
  return found?.replace(/(?<![.>])[.>]+$/, '').toLowerCase() ?? null
}

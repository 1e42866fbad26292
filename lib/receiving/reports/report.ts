/** What is said of one recipient. `diagnostic`: the words of the server that refused it, or what else gives a reason. */
export type ReportedRecipient = {
  /** In lower case; null: it is not named. */
  address: string | null
  /** The address that it was sent to at first, where that is told. */
  original: string | null
  /** RFC 3464 2.3.3; only `failed` is a bounce. */
  action: 'failed' | 'delayed' | 'delivered' | 'relayed' | 'expanded'
  /** RFC 3463, such as 5.1.1. */
  status: string | null
  diagnostic: string
}

/** A notice of what became of a message that was sent; `texts` of a complaint are where our token may stand. */
export type Report =
  | { kind: 'delivery'; recipients: ReportedRecipient[] }
  | { kind: 'complaint'; feedback_type: string; texts: string[] }

const ADDRESS = /[^\s<>"'(),;:[\]\\]{1,64}@[^\s<>"'(),;:[\]\\]{1,255}/

/** The first address in a text, in lower case. */
export function findAddress(text: string): string | null {
  const found = ADDRESS.exec(text.slice(0, 2000))?.[0]
  return found?.replace(/[.>]+$/, '').toLowerCase() ?? null
}

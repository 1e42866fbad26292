/**
 * The result of one check. GRAY: neither for nor against. PROCESSING_FAILED: the check failed this time, or its service did not
 * respond. DISABLED: the check is not configured.
 */
export type Verdict = 'PASS' | 'FAIL' | 'GRAY' | 'PROCESSING_FAILED' | 'DISABLED'

/** Verdicts as they are stored and returned. */
export type Verdicts = Record<'spf' | 'dkim' | 'dmarc' | 'spam' | 'virus', Verdict>

/** The client and the envelope of a message. `name` is the client's name in DNS; `mail_from` '' is the null sender. */
export type Envelope = { address: string; name: string | null; helo: string; mail_from: string; rcpt_to: string[] }

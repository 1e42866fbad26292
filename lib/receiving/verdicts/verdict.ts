/**
 * What became of one check. GRAY: it says nothing, for or against. PROCESSING_FAILED: it could not be made this time, or
 * who makes it was away. DISABLED: nobody is configured to make it.
 */
export type Verdict = 'PASS' | 'FAIL' | 'GRAY' | 'PROCESSING_FAILED' | 'DISABLED'

/** As they are stored and answered (contract 4.2). */
export type Verdicts = Record<'spf' | 'dkim' | 'dmarc' | 'spam' | 'virus', Verdict>

/** Who brought a message, and for whom. `name` is what DNS calls the client; `mail_from` '' is the null sender. */
export type Envelope = { address: string; name: string | null; helo: string; mail_from: string; rcpt_to: string[] }

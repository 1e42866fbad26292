import type { SMTPServerSession } from 'smtp-server'
import type { SmtpClient } from '#sql/receiving/received_emails.ts'

/** Returns the data of a session's client that trace fields and the checks of its mail need. */
export function clientOf(session: SMTPServerSession): SmtpClient {
  return {
    address: session.remoteAddress,
    helo: session.hostNameAppearsAs,
    name: null,
    tls: session.secure ? versionOf(session) : null,
    protocol: protocolOf(session),
  }
}

/** Returns the protocol for the Received field: RFC 3848; RFC 6531, section 3.7.3 for messages with SMTPUTF8. */
function protocolOf({ transmissionType, envelope }: SMTPServerSession): string {
  return (envelope as { smtpUtf8?: boolean }).smtpUtf8
    ? transmissionType.replace(/^ESMTP/, 'UTF8SMTP')
    : transmissionType
}

function versionOf({ tlsOptions }: SMTPServerSession): string | null {
  return tlsOptions ? ((tlsOptions as { version?: string }).version ?? null) : null
}

import { isIPv6 } from 'node:net'

/** How a message was received: the envelope sender, the client, our own name, and the message's id. */
export type Trace = {
  mail_from: string
  client: { address: string; helo: string; tls: string | null; protocol?: string | undefined }
  by: string
  id: string
  received_at: Date
}

/** A host name or an address literal (RFC 5321 section 4.1.2); some clients send arbitrary text in EHLO. */
const HELO = /^(?:[\w.-]{1,255}|\[[\w.:]{1,64}\])$/

/**
 * Returns the fields that the server of final delivery puts at the top of a message (RFC 5321 section 4.4), each line ending in
 * CRLF. There is no `for` clause, which would reveal the other recipients of a blind copy.
 */
export function traceFields({ mail_from, client, by, id, received_at }: Trace): string {
  const from = `${HELO.test(client.helo) ? client.helo : 'unknown'} (${addressLiteral(client.address)})`
  // Rows from before the protocol was stored show at least whether the connection was encrypted (RFC 3848).
  const protocol = client.protocol ?? (client.tls ? 'ESMTPS' : 'ESMTP')
  const date = received_at.toUTCString().replace('GMT', '+0000')
  return [
    `Return-Path: <${mail_from.replace(/[\p{Cc}<>]/gu, '')}>`,
    `Received: from ${from}`,
    `\tby ${by} with ${protocol}`,
    `\tid ${id}; ${date}`,
    '',
  ].join('\r\n')
}

function addressLiteral(address: string): string {
  const bare = address.replace(/^::ffff:(?=\d+\.)/i, '')
  return isIPv6(bare) ? `[IPv6:${bare}]` : `[${bare}]`
}

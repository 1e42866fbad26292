import { hostname } from 'node:os'
import { z } from 'zod'
import { count, domain, hostName, networks, port, relays, transport } from './values.ts'

/** How mail leaves this server, and under which names. */
export const sending = {
  MAIL_TRANSPORT: transport
    .default('capture')
    .describe(
      'How mail leaves: `capture` stores it and sends nothing, `direct` delivers it to the mail servers of the recipients, `relay` sends it through `RELAY_URL`. A relay URL, or several separated by commas, is allowed here as well: `smtp://user:pass@host:port`.',
    ),
  RELAY_URL: relays.optional().meta({
    description:
      'Relay URLs, separated by commas and tried in this order. Used with `MAIL_TRANSPORT=relay`, and for domains that the operator sends through the relays.',
    unset: 'the URLs in `MAIL_TRANSPORT`',
  }),
  HELO_NAME: hostName.default(hostname()).meta({
    description:
      'Name of this server in EHLO and in its SMTP greeting. Other servers expect it to resolve to the address of this host.',
    unset: 'the host name',
  }),
  SERVER_DOMAIN: domain.optional().meta({
    description:
      'Domain of this server that the DNS records of senders point to: `inbound.`, `feedback.` and `links.` below it, and its SPF record.',
    unset: '`HELO_NAME`',
  }),
  RETURN_PATH_DOMAIN: domain.optional().meta({
    description:
      'Domain of the envelope sender, to which bounces return, for domains whose own return path is not verified.',
    unset: 'the domain of `from`',
  }),
  DKIM_ROTATE_DAYS: count
    .max(3650)
    .default(0)
    .describe(
      'Days after which a domain gets new DKIM keys, whose records its owner must publish. `0`: only on request.',
    ),
  IN_DOUBT: z
    .enum(['resend', 'hold'])
    .default('resend')
    .describe(
      'If the connection breaks between the end of a message and the reply, so that it may have arrived: `resend` sends it once more after 15 minutes, `hold` waits for the operator’s decision.',
    ),
  IN_DOUBT_CAMPAIGNS: z
    .enum(['hold', 'resend'])
    .default('hold')
    .describe(
      'The same for emails of campaigns. Those of automations follow `IN_DOUBT`. Decide about held emails with `POST /api/campaigns/:id/in-doubt` or the command `campaign in-doubt`.',
    ),
  SIMULATOR_DOMAIN: domain
    .default('simulator.internal')
    .describe(
      'Domain of the simulator. Mail to `delivered@`, `opened@`, `clicked@`, `bounced@`, `complained@` and `suppressed@` this domain gets that result and never leaves.',
    ),
}

/** Connections to the servers that mail is sent to. */
export const connections = {
  SEND_CONNECTIONS: count
    .min(1)
    .max(1000)
    .default(40)
    .describe(
      'SMTP connections of one worker: to each relay, and for direct delivery in total. Mail to one domain uses at most half of them. In addition, up to the same number may wait for servers that do not reply.',
    ),
  DESTINATION_CONNECTIONS: count
    .min(1)
    .max(1000)
    .default(20)
    .describe('SMTP connections of one worker to one mailbox provider. Direct delivery only.'),
  DESTINATION_RATE: count
    .default(0)
    .describe(
      'Messages per minute from all workers together to one mailbox provider. `0`: no limit. Direct delivery only.',
    ),
  MX_PORT: port.default(25).describe('Port of the recipients’ mail servers. Direct delivery only.'),
  MX_ALLOW: networks.optional().meta({
    description:
      'Addresses and networks that mail servers may have even though they are not public, such as `10.1.0.0/16`. Direct delivery only. `FETCH_DENY` takes precedence.',
    unset: 'none',
  }),
}

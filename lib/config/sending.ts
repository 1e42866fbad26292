import { hostname } from 'node:os'
import { z } from 'zod'
import { count, domain, networks, port, relays, servers, transport } from './values.ts'

/** How mail leaves, and under which names. */
export const sending = {
  MAIL_TRANSPORT: transport
    .default('capture')
    .describe(
      'capture (store, send nothing), direct (to the recipients’ servers), or a relay: smtp://user:pass@host:port, smtps://...; several in order, separated by commas.',
    ),
  RELAY_URL: relays
    .optional()
    .describe(
      'The same list, for MAIL_TRANSPORT=relay and for domains that the operator lets leave by it. Default: the URLs of MAIL_TRANSPORT.',
    ),
  SIMULATOR_DOMAIN: domain
    .default('simulator.internal')
    .describe('Mail to delivered@, bounced@, complained@ or suppressed@ here is simulated and never leaves.'),
  HELO_NAME: z.string().min(1).default(hostname()).describe('Name given in EHLO. Default: this host’s name.'),
  SERVER_DOMAIN: domain
    .optional()
    .describe(
      'Your domain that the DNS records of senders lead to: inbound., feedback. and links. below it, and its SPF record. Default: HELO_NAME.',
    ),
  RETURN_PATH_DOMAIN: domain
    .optional()
    .describe(
      'Domain of the envelope sender (where bounces return) while the return path of the sender is not verified. Default: the domain of the From address.',
    ),
  DNS_SERVERS: servers
    .optional()
    .describe('Name servers to ask: 9.9.9.9,127.0.0.1:5353 and so on. Default: the system’s.'),
  DKIM_ROTATE_DAYS: count
    .max(3650)
    .default(0)
    .describe('Days after which a domain is given new DKIM keys, for its owner to publish. 0: only when asked to.'),
  IN_DOUBT: z
    .enum(['resend', 'hold'])
    .default('resend')
    .describe('A reply that never came after the final dot: resend once after 15 minutes, or hold for a person.'),
}

/** Connections to the servers that mail is sent to. */
export const connections = {
  SEND_CONNECTIONS: count.min(1).max(1000).default(40).describe('SMTP connections of one worker, to each relay.'),
  DESTINATION_CONNECTIONS: count
    .min(1)
    .max(1000)
    .default(20)
    .describe('Of these to one mailbox provider at most, with MAIL_TRANSPORT=direct.'),
  DESTINATION_RATE: count
    .default(0)
    .describe('Messages a minute from one worker to one mailbox provider, with MAIL_TRANSPORT=direct. 0: no limit.'),
  MX_PORT: port.default(25).describe('Port of the recipients’ mail servers, with MAIL_TRANSPORT=direct.'),
  MX_ALLOW: networks
    .optional()
    .describe('Addresses and networks that mail servers may be on although not public. Default: none.'),
}

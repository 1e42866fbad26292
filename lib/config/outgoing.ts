import { z } from 'zod'
import { httpUrl, networks, ports, servers } from './values.ts'

/** DNS, and HTTP requests to other servers: files, webhooks, DNS providers. */
export const outgoing = {
  DNS_SERVERS: servers.optional().meta({
    description: 'Name servers to ask, separated by commas, such as `9.9.9.9,127.0.0.1:5353`.',
    unset: 'those of the system',
  }),
  FETCH_PORTS: ports.default([80, 443, 8080, 8443]).describe('Ports that URLs of attachments and webhooks may use.'),
  FETCH_ALLOW: networks.optional().meta({
    description:
      'Addresses and networks that URLs of attachments and webhooks may lead to even though they are not public, such as `10.1.0.0/16`. Host names are looked up in DNS only, not in `/etc/hosts`.',
    unset: 'none',
  }),
  FETCH_DENY: networks.optional().meta({
    description:
      'Addresses and networks to which requests are never sent. Addresses that are not public, and those of this host, are denied by default.',
    unset: 'none',
  }),
  CLOUDFLARE_API: httpUrl
    .default('https://api.cloudflare.com/client/v4')
    .describe('URL of the Cloudflare API, which writes DNS records for users who give their credentials.'),
  GODADDY_API: httpUrl
    .default('https://api.godaddy.com/v1')
    .describe('URL of the GoDaddy API, which writes DNS records there.'),
  NAMECHEAP_API: httpUrl
    .default('https://api.namecheap.com/xml.response')
    .describe('URL of the Namecheap API, which writes DNS records there.'),
  NAMECHEAP_CLIENT_IP: z.ipv4().optional().meta({
    description:
      'IPv4 address from which requests of this server reach Namecheap. Users must allow it in their Namecheap account.',
    unset: 'the address of this host, if it is public',
  }),
}

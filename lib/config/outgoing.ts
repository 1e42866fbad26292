import { z } from 'zod'
import { blobStore, httpUrl, networks, ports } from './values.ts'

/** HTTP requests to other servers: files and webhooks, DNS providers, the store of attachments. */
export const outgoing = {
  FETCH_PORTS: ports.default([80, 443, 8080, 8443]).describe('Ports that attachments and webhooks by URL may be on.'),
  FETCH_ALLOW: networks
    .optional()
    .describe('Addresses and networks they may be on although not public: 10.1.0.0/16 and so on. Default: none.'),
  FETCH_DENY: networks
    .optional()
    .describe('Addresses and networks they may never be on. What is not public is denied.'),
  CLOUDFLARE_API: httpUrl
    .default('https://api.cloudflare.com/client/v4')
    .describe('API that writes DNS records at Cloudflare, for callers who ask for it.'),
  GODADDY_API: httpUrl.default('https://api.godaddy.com/v1').describe('The same at GoDaddy.'),
  NAMECHEAP_API: httpUrl.default('https://api.namecheap.com/xml.response').describe('The same at Namecheap.'),
  NAMECHEAP_CLIENT_IP: z
    .ipv4()
    .optional()
    .describe('IPv4 address that Namecheap sees this server at. Default: its own, if it has a public one.'),
  BLOB_STORE: blobStore
    .default('postgres')
    .describe(
      'Where attachments lie: postgres, or s3://ACCESS_KEY:SECRET@bucket/prefix?endpoint=https://...&region=...',
    ),
}

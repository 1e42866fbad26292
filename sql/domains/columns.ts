import { z } from 'zod'
import { Brand } from '#lib/domains/brand.ts'
import { DomainStatus, SENDABLE } from '#lib/domains/domain_status.ts'
import { sql } from '#sql/pool.ts'

/**
 * A domain with one of these statuses can send, if that capability is enabled. Literals, since the index of sendable
 * names does not match parameters.
 */
export const sendableStatuses = sql.fragment`(${sql.join(SENDABLE.map(sql.literalValue), sql.fragment`, `)})`

/** A domain as other rooms see it. */
export const Domain = z.object({ id: z.string(), account_id: z.string(), name: z.string(), status: DomainStatus })
export type Domain = z.infer<typeof Domain>

const Capability = z.enum(['enabled', 'disabled'])
export const Capabilities = z
  .object({
    sending: Capability.describe('Mail can be sent from it.'),
    receiving: Capability.describe('Mail to it is received.'),
  })
  .meta({ id: 'Capabilities' })

export const capabilities = sql.fragment`jsonb_build_object(
    'sending', CASE WHEN sending THEN 'enabled' ELSE 'disabled' END,
    'receiving', CASE WHEN receiving THEN 'enabled' ELSE 'disabled' END
  ) AS capabilities`

/** A domain as in lists; a single domain also has its records. */
export const ListedDomain = z
  .object({
    object: z.literal('domain'),
    id: z.string(),
    name: z.string().describe('The domain.'),
    status: DomainStatus.describe(
      'Mail can be sent from it if it is `verified`, `partially_verified` or `partially_failed`.',
    ),
    region: z.string().describe('Stored as given, without effect.'),
    capabilities: Capabilities.describe('Use of the domain.'),
    open_tracking: z
      .boolean()
      .describe(
        'True if opens of its emails are counted. If opens or clicks are counted, the domain needs the Tracking record.',
      ),
    click_tracking: z.boolean().describe('The same, for clicks on links.'),
    tracking_subdomain: z.string().nullable().describe('Subdomain of the Tracking record; null: `track`.'),
    tls: z.enum(['opportunistic', 'enforced']).describe('`enforced`: its mail is never sent without TLS.'),
    custom_return_path: z.string().describe('Subdomain of the return path.'),
    brand: Brand.describe('Look of the pages on which recipients unsubscribe.'),
    postal_address: z
      .string()
      .nullable()
      .describe('Postal address of the sender, in the footer of campaigns; null: that of the account.'),
    default_audience_id: z.string().describe('Id of the audience that has all of its contacts.'),
    verified_at: z.date().nullable().describe('When it was verified.'),
    created_at: z.date(),
    updated_at: z.date(),
  })
  .meta({ id: 'ListedDomain' })
export type ListedDomain = z.infer<typeof ListedDomain>

/** `is_trusted`: the operator vouches for it; DNS is never checked. */
export const LockedDomain = ListedDomain.extend({ is_trusted: z.boolean() })
export type LockedDomain = z.infer<typeof LockedDomain>

/** Select list of a query from `domains`. */
export const listedColumns = sql.fragment`
  'domain' AS object, id, name, status, region, ${capabilities}, open_tracking, click_tracking, tracking_subdomain, tls,
  custom_return_path, jsonb_build_object('name', brand_name, 'color', brand_color, 'logo_url', brand_logo_url) AS brand, postal_address,
  id AS default_audience_id, verified_at, created_at, updated_at
`

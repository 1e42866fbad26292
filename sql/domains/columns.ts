import { z } from 'zod'
import { DomainStatus, SENDABLE } from '#lib/domains/domain_status.ts'
import { sql } from '#sql/pool.ts'

/**
 * A domain with one of these can send, if its capability is enabled. Literals, since the index of sendable names does not
 * fit parameters.
 */
export const sendableStatuses = sql.fragment`(${sql.join(SENDABLE.map(sql.literalValue), sql.fragment`, `)})`

/** A domain as other rooms see it. */
export const Domain = z.object({ id: z.string(), account_id: z.string(), name: z.string(), status: DomainStatus })
export type Domain = z.infer<typeof Domain>

const Capability = z.enum(['enabled', 'disabled'])
export const Capabilities = z.object({ sending: Capability, receiving: Capability }).meta({ id: 'Capabilities' })

export const capabilities = sql.fragment`jsonb_build_object(
    'sending', CASE WHEN sending THEN 'enabled' ELSE 'disabled' END,
    'receiving', CASE WHEN receiving THEN 'enabled' ELSE 'disabled' END
  ) AS capabilities`

/** A domain as it is listed (contract 5.1): by itself it has its records too. */
export const ListedDomain = z
  .object({
    object: z.literal('domain'),
    id: z.string(),
    name: z.string(),
    status: DomainStatus,
    region: z.string(),
    capabilities: Capabilities,
    open_tracking: z.boolean(),
    click_tracking: z.boolean(),
    tracking_subdomain: z.string().nullable(),
    tls: z.enum(['opportunistic', 'enforced']),
    custom_return_path: z.string(),
    /** The audience that all of its contacts are in. */
    default_audience_id: z.string(),
    verified_at: z.date().nullable(),
    created_at: z.date(),
    updated_at: z.date(),
  })
  .meta({ id: 'ListedDomain' })
export type ListedDomain = z.infer<typeof ListedDomain>

/** `is_trusted`: the operator vouches for it, DNS is never asked. */
export const LockedDomain = ListedDomain.extend({ is_trusted: z.boolean() })
export type LockedDomain = z.infer<typeof LockedDomain>

/** Select list of a query from `domains`. */
export const listedColumns = sql.fragment`
  'domain' AS object, id, name, status, region, ${capabilities}, open_tracking, click_tracking, tracking_subdomain, tls,
  custom_return_path, id AS default_audience_id, verified_at, created_at, updated_at
`

import type { Context } from '#api/context.ts'
import { json } from '#api/operations/bodies.ts'
import { operation } from '#api/operations/operation.ts'
import { uuidParam } from '#api/operations/params.ts'
import { applyDns, type DnsHelper, DnsResult } from '#flows/domains/publish_at_provider.ts'
import { clientIp } from '#lib/domains/providers/client_ip.ts'
import { CloudflareCredentials, openCloudflare } from '#lib/domains/providers/cloudflare.ts'
import { GodaddyCredentials, openGodaddy } from '#lib/domains/providers/godaddy.ts'
import { NamecheapCredentials, openNamecheap } from '#lib/domains/providers/namecheap.ts'
import type { ErrorName } from '#lib/errors.ts'
import { requireDomain } from './domains.ts'

/** Parts that the operations of all three providers share. */
const common = {
  access: 'full' as const,
  params: { id: uuidParam('Domain') },
  description: 'Uses the credentials once and does not store them. Then starts a check of the domain.',
  answers: { 200: DnsResult },
  errors: ['missing_required_field', 'plan_limit_reached', 'domain_conflict'] as ErrorName[],
}

/** Operations that write the records of a domain at a DNS provider. */
export const domainProviders = [
  operation('POST /domains/:id/dns/cloudflare', {
    ...common,
    id: 'publishAtCloudflare',
    summary: 'Write the DNS records of a domain at Cloudflare',
    body: json(CloudflareCredentials),
  }).handle(async (ctx, { params: { id }, body }) =>
    apply(ctx, id, () => {
      const given = body()
      const open: DnsHelper['open'] = (ask, domain) => openCloudflare(ask, given, domain)
      return { provider: 'Cloudflare', url: ctx.config.CLOUDFLARE_API, secrets: [given.token], open }
    }),
  ),

  operation('POST /domains/:id/dns/godaddy', {
    ...common,
    id: 'publishAtGodaddy',
    summary: 'Write the DNS records of a domain at GoDaddy',
    body: json(GodaddyCredentials),
  }).handle(async (ctx, { params: { id }, body }) =>
    apply(ctx, id, () => {
      const given = body()
      const open: DnsHelper['open'] = (ask, domain) => openGodaddy(ask, given, domain)
      return { provider: 'GoDaddy', url: ctx.config.GODADDY_API, secrets: [given.key, given.secret], open }
    }),
  ),

  operation('POST /domains/:id/dns/namecheap', {
    ...common,
    id: 'publishAtNamecheap',
    summary: 'Write the DNS records of a domain at Namecheap',
    body: json(NamecheapCredentials),
  }).handle(async (ctx, { params: { id }, body }) =>
    apply(ctx, id, () => {
      const given = body()
      const secrets = [given.api_key, given.api_user, given.user_name ?? '']
      const open: DnsHelper['open'] = (ask, domain) =>
        openNamecheap(ask, given, domain, clientIp(ctx.config.NAMECHEAP_CLIENT_IP))
      return { provider: 'Namecheap', url: ctx.config.NAMECHEAP_API, secrets, open }
    }),
  ),
]

/** Writes the records. `helper` reads the body, and is called only once the domain was found. */
async function apply(ctx: Context, id: string, helper: () => DnsHelper): Promise<DnsResult> {
  await requireDomain(ctx, id)
  return applyDns(ctx, ctx.state.caller.account_id, id, helper())
}

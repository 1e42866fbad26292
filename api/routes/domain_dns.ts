import Router from '@koa/router'
import { z } from 'zod'
import { readBody } from '#api/bodies/read_body.ts'
import type { Context, Services, State } from '#api/context.ts'
import { fullAccess } from '#api/middleware/auth.ts'
import { invalid, parseId, single } from '#api/parse.ts'
import { findZoneRecords } from '#flows/domains/find_domain.ts'
import { applyDns, type DnsHelper } from '#flows/domains/publish_at_provider.ts'
import { EXPORT_FORMATS, exportRecords } from '#lib/domains/export/export_records.ts'
import { checkMx } from '#lib/domains/mx_check.ts'
import { clientIp } from '#lib/domains/providers/client_ip.ts'
import { CloudflareCredentials, openCloudflare } from '#lib/domains/providers/cloudflare.ts'
import { detectProvider } from '#lib/domains/providers/detect.ts'
import { GodaddyCredentials, openGodaddy } from '#lib/domains/providers/godaddy.ts'
import { NamecheapCredentials, openNamecheap } from '#lib/domains/providers/namecheap.ts'
import { notFound } from '#lib/errors.ts'
import { parse } from '#lib/json/parse.ts'
import { asciiDomain } from '#lib/mail/address.ts'
import { requireDomain } from './domains.ts'

/** What domains have to do with DNS. Before `domains`, which would take `mx-check` for an id. */
export const domainDns = new Router<State, Services>()

const UNANSWERED = 'could not be looked up now: its name servers do not answer. Try again.'

const Hostname = z.string().transform((text, context) => {
  const name = asciiDomain(text)
  if (name && name.length <= 253) return name
  context.addIssue('must be a host name such as acme.com')
  return z.NEVER
})

domainDns.get('/domains/mx-check', fullAccess, async ctx => {
  const { name } = parse(z.object({ name: Hostname }), { name: single(ctx, 'name') })
  const check = await checkMx(ctx.dns, name, `inbound.${ctx.config.SERVER_DOMAIN}`)
  if (!check) throw invalid(`The domain ${name} ${UNANSWERED}`)
  ctx.body = { object: 'mx_check', name, ...check }
})

domainDns.get('/domains/:id/dns', fullAccess, async ctx => {
  const { id, name } = await requireDomain(ctx)
  const found = await detectProvider(ctx.dns, name)
  if (!found) throw invalid(`The domain ${name} ${UNANSWERED}`)
  ctx.body = { object: 'domain_dns', id, name, ...found }
})

const Format = z.object({ format: z.enum(EXPORT_FORMATS).default('zone') })

domainDns.get('/domains/:id/dns/export', fullAccess, async ctx => {
  const { account_id } = ctx.state.caller
  const found = await findZoneRecords(ctx.pool, account_id, parseId('Domain', ctx.params.id), ctx.config.SERVER_DOMAIN)
  if (!found) throw notFound('Domain')
  const { format } = parse(Format, { format: single(ctx, 'format') })
  const { id, name } = found.domain
  ctx.body = { object: 'domain_records_export', id, name, format, ...exportRecords({ name }, found.records, format) }
})

domainDns.post('/domains/:id/dns/cloudflare', fullAccess, readBody, async ctx => {
  await apply(ctx, () => {
    const given = parse(CloudflareCredentials, ctx.state.body)
    const open: DnsHelper['open'] = (ask, domain) => openCloudflare(ask, given, domain)
    return { provider: 'Cloudflare', url: ctx.config.CLOUDFLARE_API, secrets: [given.token], open }
  })
})

domainDns.post('/domains/:id/dns/godaddy', fullAccess, readBody, async ctx => {
  await apply(ctx, () => {
    const given = parse(GodaddyCredentials, ctx.state.body)
    const open: DnsHelper['open'] = (ask, domain) => openGodaddy(ask, given, domain)
    return { provider: 'GoDaddy', url: ctx.config.GODADDY_API, secrets: [given.key, given.secret], open }
  })
})

domainDns.post('/domains/:id/dns/namecheap', fullAccess, readBody, async ctx => {
  await apply(ctx, () => {
    const given = parse(NamecheapCredentials, ctx.state.body)
    const secrets = [given.api_key, given.api_user, given.user_name ?? '']
    const open: DnsHelper['open'] = (ask, domain) =>
      openNamecheap(ask, given, domain, clientIp(ctx.config.NAMECHEAP_CLIENT_IP))
    return { provider: 'Namecheap', url: ctx.config.NAMECHEAP_API, secrets, open }
  })
})

/** The helper is made of the body once it is known that the domain is there. */
async function apply(ctx: Context, helper: () => DnsHelper): Promise<void> {
  const { id } = await requireDomain(ctx)
  ctx.body = await applyDns(ctx, ctx.state.caller.account_id, id, helper())
}

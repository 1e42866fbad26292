import { z } from 'zod'
import { refTo } from '#api/operations/answers.ts'
import { operation } from '#api/operations/operation.ts'
import { uuidParam } from '#api/operations/params.ts'
import { findZoneRecords } from '#flows/domains/find_domain.ts'
import { EXPORT_FORMATS, ExportedRecords, exportRecords } from '#lib/domains/export/export_records.ts'
import { checkMx, MxCheck } from '#lib/domains/mx_check.ts'
import { DetectedProvider, detectProvider } from '#lib/domains/providers/detect.ts'
import { ApiError, orNotFound } from '#lib/errors.ts'
import { asciiDomain } from '#lib/mail/address.ts'
import { requireDomain } from './domains.ts'

const params = { id: uuidParam('Domain') }

const Hostname = z.string().transform((text, context) => {
  const name = asciiDomain(text)
  if (name && name.length <= 253) return name
  context.addIssue('must be a host name such as acme.com')
  return z.NEVER
})

const DomainName = z.string().describe('The domain.')
const ShownMxCheck = MxCheck.extend({
  object: z.literal('mx_check'),
  name: z.string().describe('The name that was looked up.'),
}).meta({ id: 'MxCheck' })
const DomainDns = refTo('domain_dns')
  .extend({ name: DomainName, ...DetectedProvider.shape })
  .meta({ id: 'DomainDns' })
const RecordsExport = refTo('domain_records_export')
  .extend({ name: DomainName, format: z.enum(EXPORT_FORMATS).describe('As requested.'), ...ExportedRecords.shape })
  .meta({ id: 'RecordsExport' })

export const domainDns = [
  operation('GET /domains/mx-check', {
    id: 'checkMx',
    access: 'full',
    summary: 'Look up the MX records of a name',
    query: z.object({ name: Hostname.describe('A host name such as `acme.com`.') }),
    answers: { 200: ShownMxCheck },
    errors: ['missing_required_field'],
  }).handle(async (ctx, { query }) => {
    const { name } = query()
    const check = await checkMx(ctx.dns, name, `inbound.${ctx.config.SERVER_DOMAIN}`)
    if (!check) throw noReply(name)
    return { object: 'mx_check', name, ...check }
  }),

  operation('GET /domains/:id/dns', {
    id: 'detectDnsProvider',
    access: 'full',
    params,
    summary: 'Detect the DNS provider of a domain',
    answers: { 200: DomainDns },
  }).handle(async (ctx, { params }) => {
    const { id, name } = await requireDomain(ctx, params.id)
    const found = await detectProvider(ctx.dns, name)
    if (!found) throw noReply(name)
    return { object: 'domain_dns', id, name, ...found }
  }),

  operation('GET /domains/:id/dns/export', {
    id: 'exportDnsRecords',
    access: 'full',
    params,
    summary: 'Export the DNS records of a domain as a file',
    query: z.object({ format: z.enum(EXPORT_FORMATS).default('zone').describe('`zone`: a zone file (RFC 1035).') }),
    answers: { 200: RecordsExport },
  }).handle(async (ctx, { account_id, params, query }) => {
    const found = orNotFound('Domain', await findZoneRecords(ctx.pool, account_id, params.id, ctx.config.SERVER_DOMAIN))
    const { format } = query()
    const { id, name } = found.domain
    return { object: 'domain_records_export', id, name, format, ...exportRecords({ name }, found.records, format) }
  }),
]

function noReply(name: string): ApiError {
  const message = `The domain ${name} could not be looked up now: its name servers do not answer. Try again.`
  return new ApiError('validation_error', message)
}

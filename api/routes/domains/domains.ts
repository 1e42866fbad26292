import { z } from 'zod'
import type { Context } from '#api/context.ts'
import { changed, deleted, listOf, refTo } from '#api/operations/answers.ts'
import { json } from '#api/operations/bodies.ts'
import { operation } from '#api/operations/operation.ts'
import { uuidParam } from '#api/operations/params.ts'
import { flag, wholeQuery } from '#api/operations/queries.ts'
import { changeDomain } from '#flows/domains/change_domain.ts'
import { createDomain } from '#flows/domains/create_domain.ts'
import { findDomainWithRecords, PresentedDomain } from '#flows/domains/find_domain.ts'
import { removeDomain } from '#flows/domains/removal/remove_domain.ts'
import { requestVerification } from '#flows/domains/request_verification.ts'
import { rotateDkimKeys } from '#flows/domains/rotate_dkim_keys.ts'
import { DomainStatus } from '#lib/domains/domain_status.ts'
import { DomainChange, NewDomain } from '#lib/domains/new_domain.ts'
import { orNotFound } from '#lib/errors.ts'
import { ListedDomain } from '#sql/domains/columns.ts'
import { findDomain, listDomains } from '#sql/domains/domains.ts'

const params = { id: uuidParam('Domain') }

export const domains = [
  operation('POST /domains', {
    id: 'createDomain',
    access: 'full',
    summary: 'Add a domain',
    description:
      'The response has the DNS records to publish. Mail can be sent from the domain once they are verified.',
    body: json(NewDomain),
    answers: { 201: PresentedDomain },
    errors: ['missing_required_field', 'domain_conflict', 'plan_limit_reached'],
  }).handle(async (ctx, { account_id, body }) => {
    const { capabilities, ...fields } = body()
    const { id } = await createDomain(ctx, {
      ...fields,
      account_id,
      is_trusted: false,
      sending: capabilities?.sending !== 'disabled',
      receiving: capabilities?.receiving === 'enabled',
    })
    return presentDomain(ctx, id)
  }),

  operation('GET /domains', {
    id: 'listDomains',
    access: 'full',
    summary: 'List domains',
    query: wholeQuery({}),
    answers: { 200: listOf(ListedDomain) },
  }).handle(async (ctx, { account_id, query }) => listDomains(ctx.pool, account_id, query().position)),

  operation('GET /domains/:id', {
    id: 'getDomain',
    access: 'full',
    params,
    summary: 'Get a domain with its DNS records',
    answers: { 200: PresentedDomain },
  }).handle(async (ctx, { params: { id } }) => presentDomain(ctx, id)),

  operation('PATCH /domains/:id', {
    id: 'updateDomain',
    access: 'full',
    params,
    summary: 'Change a domain',
    description: 'Changes the given fields. `name` and `region` cannot be changed.',
    body: json(DomainChange),
    answers: { 200: changed('domain') },
  }).handle(async (ctx, { account_id, params: { id }, body }) => {
    await requireDomain(ctx, id)
    await changeDomain(ctx, account_id, id, body())
    return { object: 'domain', id }
  }),

  operation('DELETE /domains/:id', {
    id: 'deleteDomain',
    access: 'full',
    params,
    summary: 'Delete a domain',
    query: z.object({
      with_contacts: flag.describe(
        '`true` also deletes the contacts, campaigns and automations of the domain. Without it, a domain that has any is not deleted.',
      ),
    }),
    answers: { 200: deleted('domain') },
    errors: ['reputation_paused'],
  }).handle(async (ctx, { account_id, params: { id }, query }) => {
    orNotFound('Domain', await findDomain(ctx.pool, account_id, id))
    await removeDomain(ctx, account_id, id, query().with_contacts === true)
    return { object: 'domain', id, deleted: true }
  }),

  operation('POST /domains/:id/verify', {
    id: 'verifyDomain',
    access: 'full',
    params,
    summary: 'Check the DNS records of a domain',
    description: 'Starts a check and returns immediately. The status changes once DNS has responded.',
    answers: {
      200: refTo('domain')
        .extend({ status: DomainStatus.describe('Its status during the check.') })
        .meta({ id: 'VerifyingDomain' }),
    },
    errors: ['plan_limit_reached', 'domain_conflict'],
  }).handle(async (ctx, { account_id, params: { id } }) => {
    const status = await requestVerification(ctx, account_id, id)
    return { object: 'domain', id, status }
  }),

  operation('POST /domains/:id/dkim/rotate', {
    id: 'rotateDkimKeys',
    access: 'full',
    params,
    summary: 'Replace the DKIM keys of a domain',
    description: 'Returns the records of the next keys. A repeated call returns the same keys until they are used.',
    answers: { 200: PresentedDomain },
  }).handle(async (ctx, { account_id, params: { id } }) => {
    await rotateDkimKeys(ctx, { account_id, domain_id: id }, 'owner')
    return presentDomain(ctx, id)
  }),
]

export async function requireDomain(ctx: Context, id: string): Promise<ListedDomain> {
  return orNotFound('Domain', await findDomain(ctx.pool, ctx.state.caller.account_id, id))
}

async function presentDomain(ctx: Context, id: string): Promise<PresentedDomain> {
  const { account_id } = ctx.state.caller
  return orNotFound('Domain', await findDomainWithRecords(ctx.pool, account_id, id, ctx.config.SERVER_DOMAIN))
}

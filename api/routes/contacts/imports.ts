import { Readable } from 'node:stream'
import { z } from 'zod'
import { sendExport } from '#api/bodies/download.ts'
import { apiOrigin } from '#api/contact_ref.ts'
import type { Context } from '#api/context.ts'
import { bytes, listOf } from '#api/operations/answers.ts'
import { importBody } from '#api/operations/bodies.ts'
import { numericId } from '#api/operations/ids.ts'
import { type Access, type Header, operation } from '#api/operations/operation.ts'
import { uuidParam } from '#api/operations/params.ts'
import { wholeQuery } from '#api/operations/queries.ts'
import { answerPrepared, KEY_ERRORS } from '#api/send_requested.ts'
import { contactPlace } from '#flows/contacts/contact_domain.ts'
import { prepareImport, queueImport, storeCsv } from '#flows/contacts/import/create_import.ts'
import { exportRecordErrors } from '#flows/contacts/import/export_errors.ts'
import { showImport } from '#flows/contacts/import/show_import.ts'
import type { ContactPlace } from '#flows/contacts/join_groups.ts'
import { placeInGroup, requireContactGroup } from '#flows/segments/contact_group.ts'
import { ImportForm, NewAudienceImport, NewImport } from '#lib/contacts/import/new_import.ts'
import { orNotFound } from '#lib/errors.ts'
import { parse } from '#lib/json/parse.ts'
import { ContactImport, findImport, ImportStatus, listImports } from '#sql/contacts/import/imports.ts'
import { listRecordErrors, RecordError } from '#sql/contacts/import/record_errors.ts'
import type { Tx } from '#sql/pool.ts'

const params = { id: uuidParam('Import') }

const ImportWithErrors = ContactImport.extend({
  errors: z.array(RecordError).describe('The first 100 records that were not stored.'),
}).meta({ id: 'ContactImport' })

const declared = {
  access: 'full',
  headers: ['Idempotency-Key'],
  description:
    'Takes a CSV file, as `csv` in a JSON body or as the file of a form (multipart/form-data). Its header names the columns: ' +
    '`email`, `first_name`, `last_name`, `unsubscribed`, `do_not_track`, `timezone`, the keys of properties, and `topic:` with the name of a topic. An empty ' +
    'cell leaves the value as it is. If an address occurs twice, the first one wins. A contact that has unsubscribed is subscribed again only with `resubscribe`.',
} satisfies { access: Access; headers: Header[]; description: string }
const errors = [...KEY_ERRORS, 'missing_required_field', 'contacts_busy'] as const

export const contactImports = [
  operation('POST /contacts/imports', {
    ...declared,
    id: 'importContacts',
    aliases: ['/contacts/import'],
    summary: 'Import contacts from a CSV file',
    body: importBody(NewImport, ImportForm),
    answers: { 201: ImportWithErrors },
    errors: [...errors, 'not_found'],
  }).handle(async (ctx, { body }) => {
    const given = readGiven(ctx, body)
    const { domain, audience_id } = given.form
    const findPlace = () => contactPlace(ctx.pool, { caller: ctx.state.caller, domain, audience_id })
    return answerPrepared(ctx, '/contacts/imports', async () => prepare(ctx, await findPlace(), given))
  }),

  operation('POST /audiences/:audience_id/contacts/import', {
    ...declared,
    id: 'importAudienceContacts',
    params: { audience_id: uuidParam('Audience') },
    summary: 'Import contacts into an audience from a CSV file',
    body: importBody(NewAudienceImport, ImportForm),
    answers: { 201: ImportWithErrors },
    errors,
  }).handle(async (ctx, { account_id, params: { audience_id }, body }) => {
    const group = await requireContactGroup(ctx.pool, account_id, audience_id)
    const { form, csv } = readGiven(ctx, body)
    const { place, segments } = placeInGroup(account_id, group, form.segments)
    const route = `/audiences/${audience_id}/contacts/import`
    return answerPrepared(ctx, route, () => prepare(ctx, place, { form: { ...form, segments }, csv }))
  }),

  operation('GET /contacts/imports', {
    id: 'listContactImports',
    access: 'full',
    summary: 'List imports of contacts, newest first',
    query: wholeQuery({ status: ImportStatus.optional().describe('Only imports with this status.') }),
    answers: { 200: listOf(ContactImport) },
  }).handle(async (ctx, { account_id, query }) => {
    const { filters, position } = query()
    return listImports(ctx.pool, account_id, filters, position)
  }),

  operation('GET /contacts/imports/:id', {
    id: 'getContactImport',
    access: 'full',
    params,
    summary: 'Get an import of contacts, with the first 100 errors of its file',
    answers: { 200: ImportWithErrors },
  }).handle(async (ctx, { account_id, params: { id } }) => {
    return orNotFound('Import', await showImport(ctx.pool, account_id, id))
  }),

  operation('GET /contacts/imports/:id/errors', {
    id: 'listContactImportErrors',
    access: 'full',
    params,
    summary: 'List the records of a file that were not stored, in the order of the file',
    description: 'With `format=csv`, the response is a CSV file with all of them.',
    query: wholeQuery(
      { format: z.enum(['json', 'csv']).default('json').describe('`csv`: all records as a file.') },
      numericId,
    ),
    answers: { 200: listOf(RecordError) },
    file: bytes('text/csv', 'The same as a CSV file.'),
  }).handle(async (ctx, { account_id, params: { id }, query }) => {
    orNotFound('Import', await findImport(ctx.pool, account_id, id))
    const { filters, position } = query()
    if (filters.format === 'json') return listRecordErrors(ctx.pool, { account_id, id }, position)
    sendExport(ctx, 'import_errors.csv', Readable.from(exportRecordErrors(ctx.pool, { account_id, id })))
    return undefined as never // the response is the file
  }),
]

type Given = { form: ImportForm; csv: string }

/** Reads the fields of a form, whose file is already stored, or a JSON body with its `csv`, which is always stored as UTF-8. */
function readGiven(ctx: Context, body: () => ImportForm & { csv: string }): Given {
  if (ctx.state.file) return { form: parse(ImportForm, ctx.state.body), csv: '' }
  const { csv, encoding: _, ...form } = body()
  return { form, csv }
}

async function prepare(ctx: Context, place: ContactPlace, { form, csv }: Given) {
  const file = ctx.state.file ?? (await storeCsv(ctx.blobs, place.account_id, csv))
  const row = await prepareImport(ctx.pool, place, file, form, apiOrigin(ctx))
  return async (tx: Tx) => ({ ...(await queueImport(tx, row)), errors: [] })
}

import { Readable } from 'node:stream'
import { z } from 'zod'
import { sendExport } from '#api/bodies/download.ts'
import { bytes } from '#api/operations/answers.ts'
import { longJson } from '#api/operations/bodies.ts'
import { operation } from '#api/operations/operation.ts'
import { requireDomain } from '#flows/contacts/contact_domain.ts'
import { exportContacts } from '#flows/contacts/export_contacts.ts'
import { exportSuppressions } from '#flows/suppressions/export_suppressions.ts'
import { importSuppressions } from '#flows/suppressions/import_suppressions.ts'
import { SuppressionFile } from '#lib/suppressions/new_suppression.ts'

const ImportedSuppressions = z
  .object({
    object: z.literal('suppression_import'),
    total: z.int().describe('Number of records in the file.'),
    created: z.int().describe('Number of addresses that were not suppressed before.'),
    updated: z.int().describe('Number of records whose address was already suppressed.'),
    failed: z.int().describe('Number of invalid records.'),
    errors: z
      .array(
        z.object({
          line: z.int().describe('Line of the file in which the record begins, from 1.'),
          email: z.string().describe('The address as it is in the file.'),
          message: z.string().describe('Why it was left out.'),
        }),
      )
      .describe('The first 1,000 invalid records.'),
  })
  .meta({ id: 'ImportedSuppressions' })

export const contactExports = [
  operation('GET /contacts/export', {
    id: 'exportContacts',
    access: 'full',
    summary: 'Export the contacts of a domain as a CSV file',
    description: "Text that a spreadsheet would read as a formula has a `'` before it. An import removes it.",
    query: z.object({
      domain: z.string().optional().describe('Name or id of the domain. Default: the default domain of the API key.'),
    }),
    answers: {
      200: bytes(
        'text/csv',
        'The contacts with their own values of all properties and their own choices about topics, oldest first.',
      ),
    },
  }).handle(async (ctx, { account_id, query }) => {
    const domain_id = await requireDomain(ctx.pool, { caller: ctx.state.caller, domain: query().domain })
    sendExport(ctx, 'contacts.csv', Readable.from(exportContacts(ctx.pool, { account_id, domain_id })))
  }),
]

export const suppressionExports = [
  operation('GET /suppressions/export', {
    id: 'exportSuppressions',
    access: 'full',
    summary: 'Export the suppressions as a CSV file',
    answers: { 200: bytes('text/csv', 'The suppressions, newest first.') },
  }).handle(async (ctx, { account_id }) => {
    sendExport(ctx, 'suppressions.csv', Readable.from(exportSuppressions(ctx.pool, account_id)))
  }),

  operation('POST /suppressions/import', {
    id: 'importSuppressions',
    access: 'full',
    summary: 'Suppress the addresses of a CSV file',
    description: 'The file has a column `email`, and may have `reason` and `expires_at`. Invalid records are left out.',
    body: longJson(SuppressionFile),
    answers: { 200: ImportedSuppressions },
    errors: ['missing_required_field'],
  }).handle(async (ctx, { account_id, body }) => {
    const { faults, ...counts } = await importSuppressions(ctx, account_id, body().csv)
    return { object: 'suppression_import', ...counts, errors: faults }
  }),
]

import { z } from 'zod'
import { ON_CONFLICT, OnConflict, RESUBSCRIBE, TRIGGER_AUTOMATIONS } from '#lib/contacts/contact_batch.ts'
import { groupFields, placeFields } from '#lib/contacts/new_contact.ts'
import { PropertyType } from '#lib/contacts/new_property.ts'
import { DELIMITERS } from '#lib/files/csv/header.ts'
import { withTwins } from '#lib/json/camel_case_twins.ts'
import { counted, record } from '#lib/zod_fields.ts'

/** In characters. Longer files are sent as multipart/form-data. */
const MAX_CSV = 5_000_000
const MAX_PROPERTIES = 100
const MAX_TOPICS = 100

const Header = z.string().min(1).max(2_000)

/** Maps columns, by their names in the header, to members of a contact. Other columns are mapped by their own names. */
const ColumnMap = withTwins(
  z.object({
    email: Header.optional().describe('Column of the address.'),
    first_name: Header.optional().describe('Column of the first name.'),
    last_name: Header.optional().describe('Column of the last name.'),
    unsubscribed: Header.optional().describe('Column that says who has unsubscribed: true or false.'),
    do_not_track: Header.optional().describe('Column that says whose opens and clicks are not tracked: true or false.'),
    timezone: Header.optional().describe('Column of the IANA time zone.'),
    properties: counted(
      0,
      MAX_PROPERTIES,
      'properties',
      record(
        z.object({
          column: Header.describe('Column of the values.'),
          type: PropertyType.optional().describe('Default: the type of the property; of a new one, `string`.'),
        }),
      ).optional(),
    ).describe('Columns of properties, by the keys of the properties.'),
    topics: counted(
      0,
      MAX_TOPICS,
      'topics',
      record(
        z.object({ column: Header.describe('Column of the choices: `opt_in`, `opt_out`, or empty for none.') }),
      ).optional(),
    ).describe('Columns of choices about topics, by the ids of the topics.'),
  }),
)
export type ColumnMap = z.output<typeof ColumnMap>

const Encoding = z.string().refine(isEncoding, 'must be an encoding such as utf-8, utf-16le or windows-1252')

const importFields = {
  column_map: ColumnMap.nullish().describe(
    'Columns whose names differ from those of the fields. The others are still found by their names.',
  ),
  create_properties: z
    .boolean()
    .default(true)
    .describe('True if unknown columns become properties of the type string, false if they are left out.'),
  on_conflict: OnConflict.default('upsert').describe(ON_CONFLICT),
  resubscribe: z.boolean().default(false).describe(RESUBSCRIBE),
  trigger_automations: z.boolean().default(false).describe(TRIGGER_AUTOMATIONS),
  delimiter: z.enum(DELIMITERS).optional().describe('Between cells. Default: the most frequent in the header.'),
  encoding: Encoding.optional().describe(
    'Encoding of a file in a form. Default: that of its byte order mark, else UTF-8, or Windows-1252 if it is not UTF-8.',
  ),
  ...groupFields,
}

const csv = z.string().max(MAX_CSV).describe('The text of the file. Longer files come in a form.')

/** The body of POST /contacts/imports. */
export const NewImport = withTwins(z.object({ csv, ...importFields, ...placeFields })).meta({ id: 'NewContactImport' })

/** The body of POST /audiences/:audience_id/contacts/import. */
export const NewAudienceImport = withTwins(z.object({ csv, ...importFields })).meta({ id: 'NewAudienceImport' })

const file = z.unknown().meta({ type: 'string', format: 'binary', description: 'The file.' })

/** The fields of a form, without the file, which has been stored by then. Lists and maps are JSON. */
export const ImportForm = withTwins(z.object({ ...importFields, ...placeFields, file })).meta({
  id: 'ContactImportForm',
})
export type ImportForm = Omit<z.output<typeof ImportForm>, 'file'>

function isEncoding(label: string): boolean {
  try {
    new TextDecoder(label)
    return true
  } catch {
    return false
  }
}

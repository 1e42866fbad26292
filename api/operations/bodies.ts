import type { z } from 'zod'
import { readImportBody } from '#api/bodies/import_body.ts'
import { readBody, readContactsBody, readTemplateBody } from '#api/bodies/read_body.ts'
import { readEmailBody } from '#api/bodies/upload.ts'
import type { Middleware } from '#api/context.ts'

/** The JSON body of a request, how it is read, and its limit in words. `form`: the fields of a form that may replace it. */
export type Body<Content> = { schema: z.ZodType<Content>; form?: z.ZodType; read: Middleware; limit: string }

/** A body of at most 1 MB. */
export function json<Content>(schema: z.ZodType<Content>): Body<Content> {
  return { schema, read: readBody, limit: '1 MB' }
}

/** A body of at most 10 MB. */
export function longJson<Content>(schema: z.ZodType<Content>): Body<Content> {
  return { schema, read: readTemplateBody, limit: '10 MB' }
}

/** A body of at most 20 MB, with up to 10,000 contacts. */
export function contactsJson<Content>(schema: z.ZodType<Content>): Body<Content> {
  return { schema, read: readContactsBody, limit: '20 MB' }
}

/** A file of contacts, in JSON or in a form. */
export function importBody<Content>(schema: z.ZodType<Content>, form: z.ZodType): Body<Content> {
  return { schema, form, read: readImportBody, limit: '10 MB, or a form with a file of IMPORT_MAX_MB' }
}

/** A body with attachments, which are stored while they arrive. */
export function jsonWithFiles<Content>(schema: z.ZodType<Content>): Body<Content> {
  return {
    schema,
    read: readEmailBody,
    limit: '160 MB, and 10 MB without the content of attachments and the html of batches',
  }
}

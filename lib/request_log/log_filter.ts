import { z } from 'zod'
import { findUnstorable } from '#lib/json/unstorable_json.ts'
import { CREATED_AFTER, CREATED_BEFORE, moment } from '#lib/zod_fields.ts'

const text = z
  .string()
  .min(1)
  .max(500)
  .refine(value => findUnstorable(value) === null, 'must not have characters that cannot be stored')

/** A status such as `422`, or a class such as `4xx`, as the range of statuses. */
const status = z
  .string()
  .regex(/^[1-5](?:[0-9][0-9]|xx)$/, 'must be a status such as 422, or a class such as 4xx')
  .transform(value => ({ from: Number(value.replace('xx', '00')), to: Number(value.replace('xx', '99')) }))

/** The query of GET /logs. `q` ignores case. */
export const LogFilter = z.object({
  method: z
    .enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
    .optional()
    .describe('Only requests with this method.'),
  status: status
    .optional()
    .describe('Only responses with this status, such as `422`, or of this class, such as `4xx`.'),
  endpoint: text.startsWith('/').optional().describe('Only paths that begin with this, such as `/emails`.'),
  q: text.optional().describe('Text in the path or the User-Agent, ignoring case.'),
  created_after: moment.optional().describe(CREATED_AFTER),
  created_before: moment.optional().describe(CREATED_BEFORE),
})
export type LogFilter = z.infer<typeof LogFilter>

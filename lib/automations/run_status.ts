import { z } from 'zod'
import { orList } from '#lib/json/requirements.ts'

export const RunStatus = z.enum(['running', 'completed', 'failed', 'skipped'])
export type RunStatus = z.infer<typeof RunStatus>

/** `running,failed` */
export const RunStatuses = z
  .string()
  .transform((text, context) => {
    const { data } = z.array(RunStatus).safeParse(text.split(',').map(name => name.trim()))
    if (data) return [...new Set(data)]
    context.addIssue({
      code: 'custom',
      message: `must be ${orList(RunStatus.options)}, or several with commas between`,
    })
    return z.NEVER
  })
  .meta({ type: 'string' })

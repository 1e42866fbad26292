import type { Context } from '#api/context.ts'
import { requireOwnPage } from '#api/middleware/session.ts'
import { ApiError } from '#lib/errors.ts'
import { type Form, readShortForm } from '#web/request/form.ts'
import { respondHtml } from '#web/request/respond.ts'
import type { Problem } from '#web/request/visit.ts'

/** Reads and handles a form. If it is rejected, the page is shown again with the error. */
export async function handleForm(
  ctx: Context,
  show: (problem: Problem) => Promise<string>,
  run: (form: Form) => Promise<void>,
  max_bytes?: number,
): Promise<void> {
  requireOwnPage(ctx)
  const form = await readShortForm(ctx, max_bytes)
  const error = await run(form).catch(apiErrorOrThrow)
  if (!(error instanceof ApiError)) return
  ctx.set(error.headers)
  respondHtml(ctx, await show({ error, form }), error.statusCode)
}

export function apiErrorOrThrow(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  throw error
}

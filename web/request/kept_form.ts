import type { Context } from '#api/context.ts'
import { requireOwnPage } from '#api/middleware/session.ts'
import { ApiError } from '#lib/errors.ts'
import type { Html } from '#web/html.ts'
import { hidden } from '#web/layout/form.ts'
import { Form, MAX_KEPT_BYTES, readShortForm } from './form.ts'

/** The field that holds all values of a form that could not be handled: the session had ended, or the server failed. */
const FIELD = 'kept_form'

/**
 * Returns a hidden field with the values of the submitted form, except passwords; null if there are none, such as those of a
 * form with a file, or if they are too long.
 */
export async function keepForm(ctx: Context): Promise<Html | null> {
  if (ctx.method !== 'POST' || ctx.is('multipart')) return null
  try {
    requireOwnPage(ctx)
    return keptField(await readShortForm(ctx, MAX_KEPT_BYTES))
  } catch (error) {
    if (error instanceof ApiError) return null
    throw error
  }
}

/** Returns that field again, for a page with another form that keeps it; null if the form keeps none. */
export function keepAgain(form: Form): Html | null {
  return form.has(FIELD) ? hidden(FIELD, form.text(FIELD)) : null
}

/** Returns the form that another form has kept, or null. */
export function keptForm(form: Form): Form | null {
  return form.has(FIELD) ? new Form(new URLSearchParams(Buffer.from(form.text(FIELD), 'base64url').toString())) : null
}

function keptField(form: Form): Html | null {
  const values = form.entries().filter(([name]) => !name.includes('password'))
  const text = String(new URLSearchParams(values))
  return (
    keepAgain(form) ?? (text.length > MAX_KEPT_BYTES ? null : hidden(FIELD, Buffer.from(text).toString('base64url')))
  )
}

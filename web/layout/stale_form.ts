import { ApiError } from '#lib/errors.ts'
import type { Html } from '#web/html.ts'
import type { Form } from '#web/request/form.ts'
import type { Visit } from '#web/request/visit.ts'
import { shownValue } from './form.ts'

type Changing = { updated_at: string }

const SHOWN = 'shown_updated_at'

/** A hidden field that says which state of a record the form shows. */
export function shownState(visit: Visit, { updated_at }: Changing): Html {
  return shownValue(visit, SHOWN, updated_at)
}

/** Rejects a form if the record was changed after its page was opened: saving the form would undo that. @throws {ApiError} */
export function refuseStale(form: Form, { updated_at }: Changing): void {
  if (!form.has(SHOWN) || form.text(SHOWN) === updated_at) return
  throw new ApiError(
    'validation_error',
    'This was changed elsewhere after you had opened the page. Copy what you have typed, and open the page again.',
  )
}

/** Records that a form was saved, for actions that may be rejected afterwards: the page then shows the form in this state. */
export function acceptState(form: Form, { updated_at }: Changing): void {
  form.replace(SHOWN, updated_at)
}

import type { Context } from '#api/context.ts'
import type { ApiError } from '#lib/errors.ts'
import type { Session } from '#sql/members/sessions.ts'
import type { Html } from '#web/html.ts'
import type { Ask } from './ask.ts'
import type { Form } from './form.ts'

/** A request for a page by a member who is signed in. */
export type Visit = {
  ctx: Context
  session: Session
  /** Does what a request to the API would do, for this member. */
  ask: Ask
  params: Record<string, string>
  query: Record<string, string>
  /** False for view-only members, whose pages have no forms. */
  mayChange: boolean
  /** Why the form that was just sent was refused; null on the first visit. */
  problem: Problem | null
}

export type Problem = { error: ApiError; form: Form }

/** A page inside the frame of the dashboard. `actions`: links beside the heading. */
export type Shown = {
  title: string
  body: Html
  actions?: Html
  status?: number
  /** It changes by itself, and so is shown anew again and again. */
  isLive?: boolean
}

/** Where a form leads, with a sentence that tells what was done. */
export type Done = { to: string; notice?: string }

export type Page = { path: string; show(visit: Visit): Promise<Shown> }

/**
 * The effect of a form. `page` has that form: it is shown again with the reason if the form is refused. `act` returns null
 * if it has responded itself.
 */
export type Action = { path: string; page: Page; act(visit: Visit, form: Form): Promise<Done | Shown | null> }

/** Something without the frame: the content of a mail, or a file to be saved. */
export type File = { path: string; send(visit: Visit): Promise<void> }

/** Pages of a resource, with their actions and files. */
export type Room = { pages: Page[]; actions: Action[]; files?: File[] }

/** Declares a page. `path` has parameters as routes do: `/emails/:id`. */
export function page(path: string, show: Page['show']): Page {
  return { path, show }
}

/** Declares the effect of a form that is posted to `path`. @throws {ApiError} in `act`, to show the page with the reason */
export function action(path: string, page: Page, act: Action['act']): Action {
  return { path, page, act }
}

/** Declares a file, for members who are signed in. @throws {ApiError} in `send`, to show a page with the reason */
export function file(path: string, send: File['send']): File {
  return { path, send }
}

import type { Context } from '#api/context.ts'
import type { ApiError } from '#lib/errors.ts'
import type { Session } from '#sql/members/sessions.ts'
import type { Html } from '#web/html.ts'
import type { CallApi } from './call_api.ts'
import type { Form } from './form.ts'

/** A request for a page by a member who is signed in. */
export type Visit = {
  ctx: Context
  session: Session
  /** Calls an operation of the API as this member. */
  call: CallApi
  /** Path of the page; for a rejected form, of the page that shows it again. */
  path: string
  params: Record<string, string>
  query: Record<string, string>
  /** False for view-only members, whose pages have no forms. */
  mayChange: boolean
  /** The submitted form and its error, if it was rejected. */
  problem: Problem | null
}

/** `prefix`: of the ids of the fields that the error may name. */
export type Problem = { error: ApiError; form: Form; prefix?: string }

/** The content of a page. `actions`: links and buttons beside the heading. */
export type PageContent = {
  title: string
  body: Html
  actions?: Html
  status?: number
  /** True if the page reloads itself every few seconds. */
  isLive?: boolean
}

/** Leads to a page, which shows the notice. */
export type Redirect = { to: string; notice?: string }

/** `showFilters`: shows the filters of a list alone, with the error if the query is rejected. */
export type Page = {
  path: string
  show(visit: Visit): Promise<PageContent>
  showFilters?(visit: Visit): PageContent
}

/**
 * Handles a form. `page` has that form: it is shown again with the error if the form is rejected. `run` returns null if it
 * has responded itself.
 */
export type Action = { path: string; page: Page; run(visit: Visit, form: Form): Promise<Redirect | PageContent | null> }

/** A response without the layout of the dashboard: the content of an email, or a download. */
export type File = { path: string; send(visit: Visit): Promise<void> }

/** The pages of a resource, with their actions and files. */
export type Room = { pages: Page[]; actions: Action[]; files?: File[] }

/** Declares a page. `path` may have parameters, such as `/emails/:id`. */
export function page(path: string, show: Page['show'], more: Pick<Page, 'showFilters'> = {}): Page {
  return { path, show, ...more }
}

/** Declares the handler of a form that is posted to `path`. If it throws an ApiError, the page is shown again with the message. */
export function action(path: string, page: Page, run: Action['run']): Action {
  return { path, page, run }
}

/** Declares a file, for members who are signed in. If `send` throws an ApiError, a page shows the message. */
export function file(path: string, send: File['send']): File {
  return { path, send }
}

import Router from '@koa/router'
import type { Context, Services, State } from '#api/context.ts'
import { callerOfSession, readSession, requireMayChange, requireOwnPage } from '#api/middleware/session.ts'
import { createFindSession, type FindSession } from '#flows/members/sessions.ts'
import type { Foundation } from '#flows/process/run_process.ts'
import { ApiError } from '#lib/errors.ts'
import { may } from '#lib/members/roles.ts'
import { hasMembers, listOwnAccounts } from '#sql/members/members.ts'
import type { Session } from '#sql/members/sessions.ts'
import { html } from './html.ts'
import { FILTER_PREFIX } from './layout/form.ts'
import { frame, plainPage } from './layout/frame.ts'
import { rooms } from './pages/index.ts'
import { addSignInRoutes } from './pages/signing_in/routes.ts'
import { signInPage } from './pages/signing_in/views.ts'
import { isFromBrowser } from './request/browser.ts'
import { createCallApi } from './request/call_api.ts'
import { EMPTY_FORM, type Form, readForm } from './request/form.ts'
import { keepForm, keptForm } from './request/kept_form.ts'
import { popNotice, setNotice } from './request/notice.ts'
import { redirect, respondHtml } from './request/respond.ts'
import type { Action, Page, PageContent, Visit } from './request/visit.ts'

/** Handles a request of a member who is signed in. */
type Handler = (visit: Visit) => Promise<void>

/** The pages of the dashboard. */
export function dashboardRouter(foundation: Foundation): Router<State, Services> {
  const findSession = createFindSession(foundation)
  const router = new Router<State, Services>()
  addSignInRoutes(router, foundation, findSession)
  for (const page of rooms.flatMap(({ pages }) => pages)) {
    router.get(page.path, (ctx, next) => (isFromBrowser(ctx) ? serve(ctx, findSession, showPage(page)) : next()))
  }
  for (const file of rooms.flatMap(({ files = [] }) => files)) {
    // With any Accept header: browsers that save a file, or show it in a frame, do not request HTML.
    router.get(file.path, (ctx, next) => (ctx.get('authorization') ? next() : serve(ctx, findSession, file.send)))
  }
  for (const action of rooms.flatMap(({ actions }) => actions)) {
    router.post(action.path, (ctx, next) =>
      isFromBrowser(ctx) ? serve(ctx, findSession, runAction(action), action) : next(),
    )
  }
  return router
}

async function serve(ctx: Context, findSession: FindSession, run: Handler, action?: Action): Promise<void> {
  const session = await readSession(ctx, findSession)
  if (!session) return action ? showSignIn(ctx, action) : sendToSignIn(ctx)
  ctx.state.caller = callerOfSession(session)
  const visit = visitOf(ctx, session)
  try {
    requireOwnPage(ctx)
    // View-only members may change their own password, passkeys and sessions.
    if (!ctx.path.startsWith('/profile/')) requireMayChange(ctx, session.role)
    await run(visit)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    await respond(visit, errorPage(error))
  }
}

async function sendToSignIn(ctx: Context): Promise<void> {
  if (await hasMembers(ctx.pool)) return redirect(ctx, `/login?${new URLSearchParams({ next: ctx.url })}`)
  const start = html`<p>There are no members yet. The server prints a setup link each time it starts. If it runs as several
processes, run <code>npm run admin -- member invite EMAIL --account ACCOUNT --role owner</code> to get one.</p>`
  respondHtml(ctx, plainPage('Welcome to Mailbrook', start))
}

/** Shows the page to sign in, which keeps the form that was submitted after the session had ended. */
async function showSignIn(ctx: Context, { page }: Action): Promise<void> {
  const kept = await keepForm(ctx)
  const next = kept ? ctx.url : pathOf(page, ctx)
  respondHtml(ctx, await signInPage(ctx, { next, kept, hasEnded: true }, null), 401)
}

function visitOf(ctx: Context, session: Session): Visit {
  const query = Object.entries(ctx.query).map(([name, value]) => [name, [value].flat()[0] ?? ''])
  return {
    ...{ ctx, session, path: ctx.path, problem: null, mayChange: may(session.role, 'change'), params: ctx.params },
    ...{ call: createCallApi(ctx), query: Object.fromEntries(query) },
  }
}

function showPage(page: Page): Handler {
  return async visit => {
    try {
      await respond(visit, await page.show(visit))
    } catch (error) {
      if (!(error instanceof ApiError && error.statusCode === 422 && page.showFilters)) throw error
      const rejected = { ...visit, problem: { error, form: EMPTY_FORM, prefix: FILTER_PREFIX } }
      await respond(rejected, { ...page.showFilters(rejected), status: 422 })
    }
  }
}

function runAction({ page, run }: Action): Handler {
  return async visit => {
    let form = EMPTY_FORM
    try {
      form = await readForm(visit.ctx)
      const kept = keptForm(form)
      if (kept) {
        form = kept
        throw new ApiError('validation_error', 'This form is not saved. Check it, and submit it again.')
      }
      requireSameAccount(visit.session, form)
      const result = await run(visit, form)
      if (result === null) return
      if ('body' in result) return await respond(visit, result)
      if (result.notice) setNotice(visit.ctx, result.notice)
      redirect(visit.ctx, result.to)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      const rejected = { ...visit, path: pathOf(page, visit), problem: { error, form } }
      await respond(rejected, { ...(await page.show(rejected)), status: error.statusCode })
    }
  }
}

function pathOf({ path }: Page, { params }: Pick<Visit, 'params'>): string {
  return path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
}

/** Rejects a form of a page that was opened in another account: what it adds would go to the wrong one. */
function requireSameAccount({ account_id, account_name }: Session, form: Form): void {
  const shown = form.text('in_account') || account_id
  if (shown === account_id) return
  const message = `This form was opened in another account, and you are in ${account_name} now. Check it before you submit it.`
  throw new ApiError('validation_error', message, { statusCode: 409 })
}

function errorPage(error: ApiError): PageContent {
  const title = error.name === 'not_found' ? 'Not found' : 'Request rejected'
  return {
    title,
    status: error.statusCode,
    body: html`<p role="alert">${error.message}</p><p><a href="/">Overview</a></p>`,
  }
}

async function respond({ ctx, session, problem }: Visit, shown: PageContent): Promise<void> {
  const accounts = await listOwnAccounts(ctx.pool, session.member_id)
  const isCaptured = ctx.config.MAIL_TRANSPORT === 'capture'
  const notice = popNotice(ctx)
  const page = frame({ shown, path: ctx.path, session, accounts, notice, problem, isCaptured })
  respondHtml(ctx, await page, shown.status)
}

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
import { frame, plainPage } from './layout/frame.ts'
import { rooms } from './pages/index.ts'
import { signingIn } from './pages/signing_in/routes.ts'
import { createAsk } from './request/ask.ts'
import { EMPTY_FORM, readForm } from './request/form.ts'
import { leaveNotice, takeNotice } from './request/notice.ts'
import { redirect, respondHtml } from './request/respond.ts'
import type { Action, Page, Shown, Visit } from './request/visit.ts'

/** Does something for a member who is signed in. */
type Serve = (visit: Visit) => Promise<void>

/** The pages of the dashboard. */
export function dashboardRouter(foundation: Foundation): Router<State, Services> {
  const findSession = createFindSession(foundation)
  const router = new Router<State, Services>()
  signingIn(router, foundation, findSession)
  for (const page of rooms.flatMap(({ pages }) => pages)) {
    router.get(page.path, (ctx, next) => (isForPeople(ctx) ? serve(ctx, findSession, showing(page)) : next()))
  }
  for (const file of rooms.flatMap(({ files = [] }) => files)) {
    // For any Accept header: browsers save these files or show them in frames, and then do not ask for HTML.
    router.get(file.path, (ctx, next) => (ctx.get('authorization') ? next() : serve(ctx, findSession, file.send)))
  }
  for (const action of rooms.flatMap(({ actions }) => actions)) {
    router.post(action.path, (ctx, next) => (isForPeople(ctx) ? serve(ctx, findSession, acting(action)) : next()))
  }
  return router
}

/** Tells whether a request comes from a browser. One with an API key, or that wants JSON, is meant for the API. */
function isForPeople(ctx: Context): boolean {
  return !ctx.get('authorization') && ctx.accepts('json', 'html') === 'html'
}

async function serve(ctx: Context, findSession: FindSession, run: Serve): Promise<void> {
  const session = await readSession(ctx, findSession)
  if (!session) return sendToSignIn(ctx)
  ctx.state.caller = callerOfSession(session)
  const visit = visitOf(ctx, session)
  try {
    requireOwnPage(ctx)
    // A member's own sign-in is no part of the account: view-only members may change it, too.
    if (!ctx.path.startsWith('/profile/')) requireMayChange(ctx, session.role)
    await run(visit)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    await respond(visit, problemPage(error))
  }
}

async function sendToSignIn(ctx: Context): Promise<void> {
  if (ctx.method !== 'GET') return redirect(ctx, '/login')
  if (await hasMembers(ctx.pool)) return redirect(ctx, `/login?${new URLSearchParams({ next: ctx.url })}`)
  const start = html`<p>Nobody is a member yet. The server prints a link to set it up each time that it starts; on a server with
several processes, <code>npm run admin -- member invite EMAIL --account default --role owner</code> prints one.</p>`
  respondHtml(ctx, plainPage('Welcome to Mailbrook', start))
}

function visitOf(ctx: Context, session: Session): Visit {
  const query = Object.entries(ctx.query).map(([name, value]) => [name, [value].flat()[0] ?? ''])
  return {
    ...{ ctx, session, problem: null, mayChange: may(session.role, 'change'), params: ctx.params },
    ...{ ask: createAsk(ctx), query: Object.fromEntries(query) },
  }
}

function showing(page: Page): Serve {
  return async visit => respond(visit, await page.show(visit))
}

function acting({ page, act }: Action): Serve {
  return async visit => {
    let form = EMPTY_FORM
    try {
      form = await readForm(visit.ctx)
      const done = await act(visit, form)
      if (done === null) return
      if ('body' in done) return await respond(visit, done)
      if (done.notice) leaveNotice(visit.ctx, done.notice)
      redirect(visit.ctx, done.to)
    } catch (error) {
      if (!(error instanceof ApiError) || error.statusCode === 404) throw error
      const refused = { ...visit, problem: { error, form } }
      await respond(refused, { ...(await page.show(refused)), status: error.statusCode })
    }
  }
}

function problemPage(error: ApiError): Shown {
  const title = error.name === 'not_found' ? 'Not found' : 'This cannot be done'
  return {
    title,
    status: error.statusCode,
    body: html`<p role="alert">${error.message}</p><p><a href="/">Overview</a></p>`,
  }
}

async function respond({ ctx, session, problem }: Visit, shown: Shown): Promise<void> {
  const accounts = await listOwnAccounts(ctx.pool, session.member_id)
  const isCaptured = ctx.config.MAIL_TRANSPORT === 'capture'
  const notice = takeNotice(ctx)
  const page = frame({ shown, path: ctx.path, session, accounts, notice, problem, isCaptured })
  respondHtml(ctx, await page, shown.status)
}

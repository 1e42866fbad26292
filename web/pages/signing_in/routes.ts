import type Router from '@koa/router'
import { clientAddress } from '#api/client_address.ts'
import type { Context, Services, State } from '#api/context.ts'
import { readSession, requireOwnPage, setSessionCookie } from '#api/middleware/session.ts'
import { acceptInvitation, followLink, openLink } from '#flows/members/member_links.ts'
import { createUseChallenge, optionsToAdd, optionsToSignIn, signInByPasskey } from '#flows/members/passkeys.ts'
import { type Client, type FindSession, signIn, startSession } from '#flows/members/sessions.ts'
import type { Foundation } from '#flows/process/run_process.ts'
import { ApiError } from '#lib/errors.ts'
import { isUuid } from '#lib/ids.ts'
import { parse } from '#lib/json/parse.ts'
import { NewMember, NewPassword } from '#lib/members/new_member.ts'
import type { MemberLink } from '#sql/members/member_links.ts'
import { deleteSession, type Session, setSessionAccount } from '#sql/members/sessions.ts'
import { type Form, MAX_KEEPING_BYTES, readShortForm } from '#web/request/form.ts'
import { keepAgain, keptForm } from '#web/request/kept_form.ts'
import { setNotice } from '#web/request/notice.ts'
import { localPath, redirect, respondHtml, respondJson } from '#web/request/respond.ts'
import type { Problem } from '#web/request/visit.ts'
import { apiErrorOrThrow, handleForm } from './handle_form.ts'
import { badLinkPage, forgotPage, joinPage, signInPage } from './views.ts'

/** Adds the routes to sign in and out, to follow invitation and reset links, and to switch accounts. */
export function addSignInRoutes(
  router: Router<State, Services>,
  foundation: Foundation,
  findSession: FindSession,
): void {
  const useChallenge = createUseChallenge(foundation)
  router.get('/login', async ctx => {
    if (await readSession(ctx, findSession)) return redirect(ctx, localPath(textOf(ctx.query.next)))
    respondHtml(ctx, await signInPage(ctx, { next: textOf(ctx.query.next), kept: null }, null))
  })
  const enter = (ctx: Context, start: (form: Form) => Promise<string>) => {
    const show = (problem: Problem) =>
      signInPage(ctx, { next: problem.form.text('next'), kept: keepAgain(problem.form) }, problem)
    const run = async (form: Form) => {
      const token = await start(form)
      setSessionCookie(ctx, token)
      redirect(ctx, localPath(form.text('next')))
      const kept = keptForm(form)
      if (!kept) return
      await chooseAccount(ctx, await findSession(token), kept.text('in_account'))
      ctx.status = 307 // The browser sends the kept form to the action that it was for.
    }
    return handleForm(ctx, show, run, MAX_KEEPING_BYTES)
  }
  router.post('/login', ctx =>
    enter(ctx, form => {
      const credentials = { email: form.text('email'), password: form.raw('password') }
      return signIn(ctx, credentials, clientOf(ctx))
    }),
  )
  router.post('/login/passkey', ctx => {
    const { pool, secrets, config, countTries } = ctx
    const services = { pool, secrets, config, countTries, useChallenge }
    return enter(ctx, form => signInByPasskey(services, form.raw('credential'), clientOf(ctx)))
  })
  router.get('/login/passkey', async ctx => respondJson(ctx, await optionsToSignIn(ctx)))
  router.get('/profile/passkeys/options', async ctx => {
    const session = await readSession(ctx, findSession)
    if (!session) return redirect(ctx, '/login')
    respondJson(ctx, await optionsToAdd(ctx, session))
  })
  router.get('/login/forgot', async ctx => respondHtml(ctx, await forgotPage()))
  router.get('/join/:token', ctx => showLink(ctx, findSession))
  router.post('/join/:token', ctx => useLink(ctx, findSession))
  router.post('/logout', ctx => signOut(ctx, findSession))
  router.post('/account', ctx => switchAccount(ctx, findSession))
}

async function signOut(ctx: Context, findSession: FindSession): Promise<void> {
  requireOwnPage(ctx)
  const session = await readSession(ctx, findSession)
  if (session) await deleteSession(ctx.pool, session.member_id, session.session_id)
  setSessionCookie(ctx, null)
  redirect(ctx, '/login')
}

async function switchAccount(ctx: Context, findSession: FindSession): Promise<void> {
  requireOwnPage(ctx)
  const session = await readSession(ctx, findSession)
  if (!session) return redirect(ctx, '/login')
  await chooseAccount(ctx, session, (await readShortForm(ctx)).text('account_id'))
  redirect(ctx, '/')
}

async function chooseAccount({ pool }: Context, session: Session | null, account_id: string): Promise<void> {
  if (session && isUuid(account_id)) await setSessionAccount(pool, session.session_id, account_id)
}

async function showLink(ctx: Context, findSession: FindSession): Promise<void> {
  const link = await findLink(ctx)
  if (!link) return
  const session = await readSession(ctx, findSession)
  respondHtml(ctx, await joinPage({ link, path: ctx.path, signed_in_as: session?.email ?? null, problem: null }))
}

async function useLink(ctx: Context, findSession: FindSession): Promise<void> {
  const link = await findLink(ctx)
  if (!link) return
  const session = await readSession(ctx, findSession)
  const parts = { link, path: ctx.path, signed_in_as: session?.email ?? null }
  const show = (problem: Problem) => joinPage({ ...parts, problem })
  await handleForm(ctx, show, async form => {
    if (session && form.has('accept')) {
      await acceptInvitation(ctx, link, session)
      await setSessionAccount(ctx.pool, session.session_id, link.account_id as string)
    } else {
      const member_id = await followLink(ctx, link, readMember(link, form))
      setSessionCookie(ctx, await startSession(ctx, { member_id, password: null }, clientOf(ctx)))
    }
    setNotice(ctx, link.purpose === 'reset' ? 'Password changed.' : 'Welcome to Mailbrook.')
    redirect(ctx, '/')
  })
}

function readMember(link: MemberLink, form: Form) {
  const password = form.raw('password')
  if (link.purpose === 'reset') return { name: '', ...parse(NewPassword, { password }) }
  return parse(NewMember, { email: form.optional('email'), name: form.text('name'), password })
}

/** Responds with 404 and returns null if the link is invalid, used or expired. */
async function findLink(ctx: Context): Promise<MemberLink | null> {
  const link = await openLink(ctx, ctx.params.token ?? '').catch(apiErrorOrThrow)
  if (link instanceof ApiError) {
    respondHtml(ctx, await badLinkPage(), 404)
    return null
  }
  return link
}

function clientOf(ctx: Context): Client {
  return { client_address: clientAddress(ctx), user_agent: ctx.get('user-agent') }
}

function textOf(value: string | string[] | undefined): string {
  return [value].flat()[0] ?? ''
}

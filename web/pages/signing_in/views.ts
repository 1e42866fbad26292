import type { Context } from '#api/context.ts'
import { relyingParty } from '#flows/members/passkeys.ts'
import { MIN_PASSWORD_LENGTH } from '#lib/members/password.ts'
import type { MemberLink } from '#sql/members/member_links.ts'
import { type Html, html } from '#web/html.ts'
import { hidden, openForm, problemHtml } from '#web/layout/form.ts'
import { plainPage } from '#web/layout/frame.ts'
import { passkeyForm } from '#web/layout/passkey_form.ts'
import type { Problem } from '#web/request/visit.ts'

const NEW_PASSWORD = {
  name: 'password',
  label: 'Password',
  type: 'password',
  hint: `At least ${MIN_PASSWORD_LENGTH} characters.`,
  autocomplete: 'new-password',
  required: true,
} as const

/**
 * `next`: path of the page or the action to go on with. `kept`: hidden field of the form that is submitted to it. `hasEnded`: true
 * if a form was submitted after the session had ended.
 */
type SignInParts = { next: string; kept: Html | null; hasEnded?: boolean }

export async function signInPage({ config }: Context, parts: SignInParts, problem: Problem | null): Promise<string> {
  const { next, kept, hasEnded } = parts
  const extra = html`${hidden('next', next)}${kept ?? ''}`
  const passkey = {
    action: '/login/passkey',
    options: '/login/passkey',
    method: 'get',
    submit: 'Use a passkey',
  } as const
  const fields = [
    { name: 'email', label: 'Email address', type: 'email', autocomplete: 'username', required: true },
    { name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password', required: true },
  ] as const
  const isLost = kept
    ? 'Sign in again: then you get back the form with what you have typed.'
    : 'Your form could not be kept. Sign in again, and then fill it in once more.'
  const body = html`${hasEnded ? html`<p role="alert">Your session has ended. ${isLost}</p>` : ''}
${problem ? problemHtml(problem) : ''}
${openForm({ action: '/login', fields: [...fields], submit: 'Sign in', extra }, problem)}
${relyingParty(config.BASE_URL) ? passkeyForm({ ...passkey, extra }, null) : ''}
<p><a href="/login/forgot">Forgot your password?</a></p>`
  return String(await plainPage('Sign in', body))
}

export async function forgotPage(): Promise<string> {
  const body = html`<p>Ask an operator of this server for a reset link, which this command prints:
<code>npm run admin -- member reset EMAIL</code>.</p>
<p><a href="/login">Sign in</a></p>`
  return String(await plainPage('Forgot your password?', body))
}

export async function badLinkPage(): Promise<string> {
  const body = html`<p>Links work once and for a limited time. Ask for a new link.</p>
<p><a href="/login">Sign in</a></p>`
  return String(await plainPage('This link is used or has expired', body))
}

type JoinParts = { link: MemberLink; path: string; signed_in_as: string | null; problem: Problem | null }

/** The page of a link that sets up the server, accepts an invitation or resets a password. */
export async function joinPage({ link, path, signed_in_as, problem }: JoinParts): Promise<string> {
  const [title, intro, submit] = textsOf(link)
  const isSignedIn = link.purpose === 'invite' && signed_in_as === link.email
  const email = {
    name: 'email',
    label: 'Email address',
    type: 'email',
    autocomplete: 'username',
    required: true,
  } as const
  const name = { name: 'name', label: 'Your name', autocomplete: 'name', required: true }
  const fields = [
    ...(link.purpose === 'setup' ? [email] : []),
    ...(link.purpose === 'reset' ? [] : [name]),
    NEW_PASSWORD,
  ]
  const joinForm = html`<p>You are signed in as ${signed_in_as}.</p>
${openForm({ action: path, fields: [], submit: `Join ${link.account_name ?? ''}`, extra: hidden('accept', '1') }, null)}`
  const body = html`<p>${intro}</p>
${problem ? problemHtml(problem) : ''}
${isSignedIn ? joinForm : openForm({ action: path, fields, submit }, problem)}`
  return String(await plainPage(title, body))
}

function textsOf({
  purpose,
  account_name,
  email,
  invited_by,
  role,
}: MemberLink): [title: string, intro: string, submit: string] {
  if (purpose === 'setup')
    return ['Set up Mailbrook', 'You will be the first member and an operator of this server.', 'Set up']
  if (purpose === 'reset')
    return ['Choose a new password', `For ${email}. All your other sessions will be signed out.`, 'Change password']
  const by = invited_by ? `${invited_by} has invited you` : 'You are invited'
  return [
    `Join ${account_name}`,
    `${by} to join ${account_name} as ${role?.replace('_', '-')}. You will sign in as ${email}.`,
    'Join',
  ]
}

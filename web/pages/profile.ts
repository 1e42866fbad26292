import { uuid } from '#api/operations/ids.ts'
import { addPasskey, relyingParty } from '#flows/members/passkeys.ts'
import { changePassword } from '#flows/members/sessions.ts'
import { orNotFound } from '#lib/errors.ts'
import { parse } from '#lib/json/parse.ts'
import { NewPasskey, NewPassword } from '#lib/members/new_member.ts'
import { MIN_PASSWORD_LENGTH } from '#lib/members/password.ts'
import { deletePasskey, listPasskeys, type Passkey } from '#sql/members/passkeys.ts'
import { deleteSession, deleteSessions, listSessions, type OpenSession } from '#sql/members/sessions.ts'
import { html } from '#web/html.ts'
import type { Field } from '#web/layout/field.ts'
import { openForm } from '#web/layout/form.ts'
import { table } from '#web/layout/list.ts'
import { facts, section, time } from '#web/layout/parts.ts'
import { passkeyForm } from '#web/layout/passkey_form.ts'
import { action, page, type Room, type Visit } from '#web/request/visit.ts'

const PASSWORDS: Field[] = [
  { name: 'old_password', label: 'Current password', type: 'password', autocomplete: 'current-password' },
  {
    ...{ name: 'password', label: 'New password', autocomplete: 'new-password', required: true },
    ...{ type: 'password', hint: `At least ${MIN_PASSWORD_LENGTH} characters. All other sessions will be signed out.` },
  },
]

const profile = page('/profile', async visit => {
  const { ctx, session, problem } = visit
  const sessions = await listSessions(ctx.pool, session.member_id)
  const columns = [
    { title: 'Signed in', cell: ({ created_at }: OpenSession) => time(created_at.toISOString()) },
    { title: 'Last active', cell: ({ last_seen_at }: OpenSession) => time(last_seen_at.toISOString()) },
    { title: 'IP address', cell: ({ client_address }: OpenSession) => client_address ?? '' },
    { title: 'Browser', cell: ({ user_agent }: OpenSession) => user_agent },
    { title: 'Sign out', cell: ({ id }: OpenSession) => (id === session.session_id ? 'this session' : endForm(id)) },
  ]
  return {
    title: 'Your profile',
    body: html`${facts([
      ['Name', session.name],
      ['Email', session.email],
      ['Account', session.account_name],
      ['Role', session.role.replace('_', '-')],
    ])}
${section('Password', openForm({ action: '/profile/password', submit: 'Change password', fields: PASSWORDS }, problem))}
${await passkeys(visit)}
${section(
  'Active sessions',
  html`${table({ caption: 'Where you are signed in', rows: sessions, columns, empty: html`` })}
${openForm({ action: '/profile/sessions/end', fields: [], submit: 'Sign out all other sessions' }, null)}`,
)}`,
  }
})

async function passkeys({ ctx, session, problem }: Visit) {
  if (!relyingParty(ctx.config.BASE_URL)) return html``
  const columns = [
    { title: 'Name', cell: ({ name }: Passkey) => name },
    { title: 'Added', cell: ({ created_at }: Passkey) => time(created_at.toISOString()) },
    { title: 'Last used', cell: ({ last_used_at }: Passkey) => (last_used_at ? time(last_used_at.toISOString()) : '') },
    { title: 'Remove', cell: ({ id }: Passkey) => removeForm(id) },
  ]
  const rows = await listPasskeys(ctx.pool, session.member_id)
  const empty = html`<p>You have no passkeys. A passkey lets you sign in with your device instead of a password.</p>`
  const fields = [{ name: 'name', label: 'Passkey name', value: 'Passkey', required: true }]
  const paths = { action: '/profile/passkeys', options: '/profile/passkeys/options' }
  const add = passkeyForm({ ...paths, method: 'create', fields, submit: 'Add a passkey' }, problem)
  return section('Passkeys', html`${table({ caption: 'Your passkeys', rows, columns, empty })}${add}`)
}

function removeForm(id: string) {
  return openForm({ action: `/profile/passkeys/${id}/delete`, fields: [], submit: 'Remove' }, null)
}

function endForm(id: string) {
  return openForm({ action: `/profile/sessions/${id}/end`, fields: [], submit: 'Sign out' }, null)
}

/** A member's password, passkeys and sessions. View-only members may change them as well. */
export const profileRoom: Room = {
  pages: [profile],
  actions: [
    action('/profile/password', profile, async ({ ctx, session }, form) => {
      const { password } = parse(NewPassword, { password: form.raw('password') })
      const passwords = { old_password: form.raw('old_password'), new_password: password }
      await changePassword(ctx, session, passwords)
      return { to: '/profile', notice: 'Password changed.' }
    }),
    action('/profile/passkeys', profile, async ({ ctx, session }, form) => {
      const { name } = parse(NewPasskey, { name: form.text('name') })
      await addPasskey(ctx, session, { name, credential: form.raw('credential') })
      return { to: '/profile', notice: 'Passkey added.' }
    }),
    action('/profile/passkeys/:id/delete', profile, async ({ ctx, session, params }) => {
      await deletePasskey(ctx.pool, session.member_id, orNotFound('Passkey', uuid(params.id ?? '')))
      return { to: '/profile', notice: 'Passkey removed.' }
    }),
    action('/profile/sessions/end', profile, async ({ ctx, session }) => {
      await deleteSessions(ctx.pool, session.member_id, session.session_id)
      return { to: '/profile', notice: 'All other sessions are signed out.' }
    }),
    action('/profile/sessions/:id/end', profile, async ({ ctx, session, params }) => {
      await deleteSession(ctx.pool, session.member_id, orNotFound('Session', uuid(params.id ?? '')))
      return { to: '/profile', notice: 'Session signed out.' }
    }),
  ],
}

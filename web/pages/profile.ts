import { changePassword } from '#flows/members/sessions.ts'
import { parse } from '#lib/json/parse.ts'
import { NewPassword } from '#lib/members/new_member.ts'
import { MIN_PASSWORD_LENGTH } from '#lib/members/password.ts'
import { deleteSession, deleteSessions, listSessions, type OpenSession } from '#sql/members/sessions.ts'
import { html } from '#web/html.ts'
import { type Field, openForm } from '#web/layout/form.ts'
import { table } from '#web/layout/list.ts'
import { facts, section, time } from '#web/layout/parts.ts'
import { action, page, type Room } from '#web/request/visit.ts'

const PASSWORDS: Field[] = [
  { name: 'old_password', label: 'Old password', type: 'password', autocomplete: 'current-password' },
  {
    ...{ name: 'password', label: 'New password', autocomplete: 'new-password', required: true },
    ...{ type: 'password', hint: `At least ${MIN_PASSWORD_LENGTH} characters. Your other sessions end.` },
  },
]

const profile = page('/profile', async ({ ctx, session, problem }) => {
  const sessions = await listSessions(ctx.pool, session.member_id)
  const columns = [
    { title: 'Signed in', cell: ({ created_at }: OpenSession) => time(created_at.toISOString()) },
    { title: 'Last seen', cell: ({ last_seen_at }: OpenSession) => time(last_seen_at.toISOString()) },
    { title: 'From', cell: ({ client_address }: OpenSession) => client_address ?? '' },
    { title: 'Browser', cell: ({ user_agent }: OpenSession) => user_agent },
    { title: 'This one', cell: ({ id }: OpenSession) => (id === session.session_id ? 'yes' : endForm(id)) },
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
${section(
  'Sessions',
  html`${table({ caption: 'Where you are signed in', rows: sessions, columns, empty: html`` })}
${openForm({ action: '/profile/sessions/end', fields: [], submit: 'Sign out everywhere else' }, null)}`,
)}`,
  }
})

function endForm(id: string) {
  return openForm({ action: `/profile/sessions/${id}/end`, fields: [], submit: 'Sign out' }, null)
}

/** The member's own password and sessions. View-only members may change them, too. */
export const profileRoom: Room = {
  pages: [profile],
  actions: [
    action('/profile/password', profile, async ({ ctx, session }, form) => {
      const { password } = parse(NewPassword, { password: form.raw('password') })
      const passwords = { old_password: form.raw('old_password'), new_password: password }
      await changePassword(ctx.pool, session, passwords)
      return { to: '/profile', notice: 'Your password is changed.' }
    }),
    action('/profile/sessions/end', profile, async ({ ctx, session }) => {
      await deleteSessions(ctx.pool, session.member_id, session.session_id)
      return { to: '/profile', notice: 'You are signed out everywhere else.' }
    }),
    action('/profile/sessions/:id/end', profile, async ({ ctx, session, params }) => {
      await deleteSession(ctx.pool, session.member_id, params.id ?? '')
      return { to: '/profile', notice: 'That session has ended.' }
    }),
  ],
}

import { auditChange } from '#api/operations/audit.ts'
import { uuid } from '#api/operations/ids.ts'
import { signOutMember } from '#flows/members/change_members.ts'
import { notFound, orNotFound } from '#lib/errors.ts'
import { may } from '#lib/members/roles.ts'
import { deleteInvitation, listInvitations } from '#sql/members/member_links.ts'
import type { Member } from '#sql/members/members.ts'
import { html } from '#web/html.ts'
import { button, confirmButton, form } from '#web/layout/form.ts'
import { empty, type List, listQuery, pager, table } from '#web/layout/list.ts'
import { copyable, section, time } from '#web/layout/parts.ts'
import { action, page, type Room, type Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

const ROLE_OPTIONS = [
  ['view_only', 'View-only: read access'],
  ['admin', 'Admin: everything except changing owners'],
  ['owner', 'Owner: full access'],
] as const

/** Roles that a member may give to others. */
function rolesFor({ session }: Visit) {
  return ROLE_OPTIONS.filter(([role]) => role !== 'owner' || may(session.role, 'own'))
}

const members = page('/members', async visit => {
  const list = await visit.call<List<Wire<Member>>>('listMembers', { query: listQuery(visit) })
  return {
    title: 'Members',
    body: html`${table({
      caption: 'Members of this account',
      rows: list.data,
      columns: [
        { title: 'Name', cell: ({ name }) => name },
        { title: 'Email', cell: ({ email }) => email },
        { title: 'Role', cell: ({ role }) => role.replace('_', '-') },
        { title: 'Passkeys', cell: ({ passkeys }) => passkeys },
        { title: 'Last active', cell: ({ last_seen_at }) => time(last_seen_at) },
      ],
      link: ({ id }) => `/members/${id}`,
      empty: empty('No members found.'),
    })}
${pager(visit, list)}
${section(
  'Invite a member',
  form(visit, {
    action: '/members',
    submit: 'Invite',
    isSecret: true,
    fields: [
      { name: 'email', label: 'Email address', type: 'email', required: true },
      { name: 'role', label: 'Role', type: 'select', options: rolesFor(visit) },
    ],
  }),
)}
${await invitations(visit)}`,
  }
})

async function invitations(visit: Visit) {
  const open = await listInvitations(visit.ctx.pool, visit.session.account_id)
  if (open.length === 0) return ''
  return section(
    'Pending invitations',
    table({
      caption: 'Invitations not accepted yet',
      rows: open,
      columns: [
        { title: 'Email', cell: ({ email }) => email ?? '' },
        { title: 'Role', cell: ({ role }) => role ?? '' },
        { title: 'Expires', cell: ({ expires_at }) => time(expires_at.toISOString()) },
        { title: 'Revoke', cell: ({ id }) => button(visit, `/members/invitations/${id}/delete`, 'Revoke') },
      ],
      empty: html``,
    }),
  )
}

const member = page('/members/:id', async visit => {
  const { data } = await visit.call<List<Wire<Member>>>('listMembers')
  const found = data.find(({ id }) => id === visit.params.id)
  if (!found) return { title: 'Not found', status: 404, body: html`<p>This member does not exist.</p>` }
  const { id, name, email, role } = found
  if (role === 'owner' && visit.session.role === 'admin') {
    return { title: name, body: html`<p>${email}</p><p>Only owners can change an owner.</p>` }
  }
  return {
    title: name,
    body: html`<p>${email}</p>
${form(visit, {
  action: `/members/${id}`,
  submit: 'Save',
  fields: [{ name: 'role', label: 'Role', type: 'select', value: role, options: rolesFor(visit) }],
})}
${id === visit.session.member_id ? '' : confirmButton(visit, `/members/${id}/sign-out`, 'Sign out everywhere', `All sessions of ${email} end, in other accounts too.`)}
${confirmButton(visit, `/members/${id}/delete`, 'Remove', `${email} will lose access to this account immediately.`)}`,
  }
})

export const memberRoom: Room = {
  pages: [members, member],
  actions: [
    action('/members', members, async (visit, form) => {
      const body = { email: form.text('email'), role: form.text('role') }
      const { email, url } = await visit.call<{ email: string; url: string }>('inviteMember', { body })
      return {
        title: 'Invitation',
        body: html`<p>Give this link to ${email}. It is valid for seven days and will not be shown again.</p>
<p>${copyable(url, 'the link')}</p><p><a href="/members">Back to members</a></p>`,
      }
    }),
    action('/members/invitations/:id/delete', members, async visit => {
      const { ctx, session, params } = visit
      const id = orNotFound('Invitation', uuid(params.id ?? ''))
      if (!(await deleteInvitation(ctx.pool, session.account_id, id))) throw notFound('Invitation')
      await auditChange(ctx, 'revokeInvitation', '/members/invitations/:id')
      return { to: '/members', notice: 'Invitation revoked.' }
    }),
    action('/members/:id', member, async (visit, form) => {
      const id = visit.params.id as string
      await visit.call('updateMember', { params: { id }, body: { role: form.text('role') } })
      return { to: '/members', notice: 'Role updated.' }
    }),
    action('/members/:id/delete', member, async visit => {
      await visit.call('removeMember', { params: { id: visit.params.id as string } })
      return { to: '/members', notice: 'Member removed.' }
    }),
    action('/members/:id/sign-out', member, async visit => {
      const { ctx, session, params } = visit
      const member_id = orNotFound('Member', uuid(params.id ?? ''))
      const change = { account_id: session.account_id, member_id, by: session.role }
      await signOutMember(ctx.pool, change, session.session_id)
      await auditChange(ctx, 'signOutMember', '/members/:id')
      return { to: `/members/${member_id}`, notice: 'Member signed out everywhere.' }
    }),
  ],
}

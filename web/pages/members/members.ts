import { deleteInvitation, listInvitations } from '#sql/members/member_links.ts'
import type { Member } from '#sql/members/members.ts'
import { html } from '#web/html.ts'
import { button, confirmButton, form } from '#web/layout/form.ts'
import { empty, type List, listQuery, pager, table } from '#web/layout/list.ts'
import { copyable, section, time } from '#web/layout/parts.ts'
import { action, page, type Room, type Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

const ROLE_OPTIONS = [
  ['view_only', 'View-only: reads'],
  ['admin', 'Admin: everything but changing owners'],
  ['owner', 'Owner: everything'],
] as const

const members = page('/members', async visit => {
  const list = await visit.ask<List<Wire<Member>>>('listMembers', { query: listQuery(visit) })
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
        { title: 'Last seen', cell: ({ last_seen_at }) => time(last_seen_at) },
      ],
      link: ({ id }) => `/members/${id}`,
      empty: empty('There are no members.'),
    })}
${pager(visit, list)}
${section(
  'Invite',
  form(visit, {
    action: '/members',
    submit: 'Invite',
    isSecret: true,
    fields: [
      { name: 'email', label: 'Email address', type: 'email', required: true },
      { name: 'role', label: 'Role', type: 'select', options: ROLE_OPTIONS },
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
    'Open invitations',
    table({
      caption: 'Invitations that nobody has followed yet',
      rows: open,
      columns: [
        { title: 'Email', cell: ({ email }) => email ?? '' },
        { title: 'Role', cell: ({ role }) => role ?? '' },
        { title: 'Good until', cell: ({ expires_at }) => time(expires_at.toISOString()) },
        { title: 'Withdraw', cell: ({ id }) => button(visit, `/members/invitations/${id}/delete`, 'Withdraw') },
      ],
      empty: html``,
    }),
  )
}

const member = page('/members/:id', async visit => {
  const { data } = await visit.ask<List<Wire<Member>>>('listMembers')
  const found = data.find(({ id }) => id === visit.params.id)
  if (!found) return { title: 'Not found', status: 404, body: html`<p>There is no such member.</p>` }
  const { id, name, email, role } = found
  return {
    title: name,
    body: html`<p>${email}</p>
${form(visit, {
  action: `/members/${id}`,
  submit: 'Save',
  fields: [{ name: 'role', label: 'Role', type: 'select', value: role, options: ROLE_OPTIONS }],
})}
${confirmButton(visit, `/members/${id}/delete`, 'Remove', `${email} loses access to this account at once.`)}`,
  }
})

export const memberRoom: Room = {
  pages: [members, member],
  actions: [
    action('/members', members, async (visit, form) => {
      const body = { email: form.text('email'), role: form.text('role') }
      const { email, url } = await visit.ask<{ email: string; url: string }>('inviteMember', { body })
      return {
        title: 'Invitation',
        body: html`<p>Give this link to ${email}. It is shown this once, and good for seven days.</p>
<p>${copyable(url, 'the link')}</p><p><a href="/members">Members</a></p>`,
      }
    }),
    action('/members/invitations/:id/delete', members, async visit => {
      await deleteInvitation(visit.ctx.pool, visit.session.account_id, visit.params.id ?? '')
      return { to: '/members', notice: 'The invitation is withdrawn.' }
    }),
    action('/members/:id', member, async (visit, form) => {
      const id = visit.params.id as string
      await visit.ask('updateMember', { params: { id }, body: { role: form.text('role') } })
      return { to: '/members', notice: 'The role is changed.' }
    }),
    action('/members/:id/delete', member, async visit => {
      await visit.ask('removeMember', { params: { id: visit.params.id as string } })
      return { to: '/members', notice: 'The member is removed.' }
    }),
  ],
}

import { z } from 'zod'
import type { Context } from '#api/context.ts'
import { changed, deleted, listOf } from '#api/operations/answers.ts'
import { json } from '#api/operations/bodies.ts'
import { operation } from '#api/operations/operation.ts'
import { uuidParam } from '#api/operations/params.ts'
import { pagedQuery, wholeQuery } from '#api/operations/queries.ts'
import { answerSecret, KEY_ERRORS, REPEATS_SECRET } from '#api/send_requested.ts'
import { changeRole, onlyOwners, removeMember } from '#flows/members/change_members.ts'
import { createInvitation } from '#flows/members/member_links.ts'
import { MemberChange, NewInvitation, Role } from '#lib/members/new_member.ts'
import { may, type Role as RoleName } from '#lib/members/roles.ts'
import { AuditEntry, listAuditEntries } from '#sql/members/audit_log.ts'
import { listMembers, Member } from '#sql/members/members.ts'

const params = { id: uuidParam('Member') }

const Invitation = z
  .object({
    object: z.literal('invitation'),
    email: z.string().describe('Address of the person who is invited.'),
    role: Role,
    url: z
      .string()
      .describe('Link to give to that person. It is returned only this once, and is valid for seven days.'),
  })
  .meta({ id: 'Invitation' })

export const members = [
  operation('GET /members', {
    id: 'listMembers',
    access: 'dashboard',
    summary: 'List members',
    query: wholeQuery({}),
    answers: { 200: listOf(Member) },
  }).handle(async (ctx, { account_id, query }) => listMembers(ctx.pool, account_id, query().position)),

  operation('POST /members', {
    id: 'inviteMember',
    access: 'dashboard',
    summary: 'Invite a member',
    description: `Returns a link with which the person becomes a member. Mailbrook does not mail it. ${REPEATS_SECRET}`,
    headers: ['Idempotency-Key'],
    body: json(NewInvitation),
    answers: { 201: Invitation },
    errors: ['missing_required_field', ...KEY_ERRORS],
  }).handle(async (ctx, { account_id, body }) => {
    const { email, role } = body()
    if (role === 'owner' && !may(roleOf(ctx), 'own')) throw onlyOwners()
    const invitation = { account_id, email, role, invited_by: ctx.state.caller.name }
    return answerSecret(ctx, '/members', async tx => {
      const url = await createInvitation(tx, ctx, invitation)
      return { object: 'invitation' as const, email, role, url }
    })
  }),

  operation('PATCH /members/:id', {
    id: 'updateMember',
    access: 'dashboard',
    summary: 'Change the role of a member',
    params,
    body: json(MemberChange),
    answers: { 200: changed('member') },
    errors: ['missing_required_field'],
  }).handle(async (ctx, { account_id, params: { id }, body }) => {
    await changeRole(ctx.pool, { account_id, member_id: id, by: roleOf(ctx) }, body().role)
    return { object: 'member' as const, id }
  }),

  operation('DELETE /members/:id', {
    id: 'removeMember',
    access: 'dashboard',
    summary: 'Remove a member from the account',
    params,
    answers: { 200: deleted('member') },
  }).handle(async (ctx, { account_id, params: { id } }) => {
    await removeMember(ctx.pool, { account_id, member_id: id, by: roleOf(ctx) })
    return { object: 'member' as const, id, deleted: true as const }
  }),

  operation('GET /audit-log', {
    id: 'listAuditEntries',
    access: 'dashboard',
    summary: 'List the changes in the audit log, newest first',
    description:
      'Lists changes by members, API keys and operators. Sent emails, events and changes of single contacts are not listed.',
    query: pagedQuery({}),
    answers: { 200: listOf(AuditEntry) },
  }).handle(async (ctx, { account_id, query }) => listAuditEntries(ctx.pool, account_id, query().position)),
]

/** Returns the role of the caller, which is always a member: the access of these operations admits nobody else. */
function roleOf(ctx: Context): RoleName {
  return ctx.state.caller.role as RoleName
}

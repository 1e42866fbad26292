import { clientAddress } from '#api/client_address.ts'
import { writeAudit } from '#flows/members/write_audit.ts'
import { notFound } from '#lib/errors.ts'
import type { Visit } from '#web/request/visit.ts'

/** @throws {ApiError} 404 unless the member is an operator */
export function requireOperator({ session }: Visit): void {
  if (!session.is_operator) throw notFound('Page')
}

/** Records a change by an operator in the audit log of the account, by default that of the operator. */
export async function audit(
  { ctx, session }: Visit,
  action: string,
  target: string,
  account_id = session.account_id,
): Promise<void> {
  await writeAudit(ctx.pool, {
    ...{ account_id, actor: 'operator', actor_id: session.member_id, actor_name: session.email },
    ...{ client_address: clientAddress(ctx) || null, action, target },
  })
}

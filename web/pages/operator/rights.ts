import { clientAddress } from '#api/client_address.ts'
import { writeAudit } from '#flows/members/write_audit.ts'
import { notFound } from '#lib/errors.ts'
import type { Visit } from '#web/request/visit.ts'

/** @throws {ApiError} 404: for all others there is no such page */
export function requireOperator({ session }: Visit): void {
  if (!session.is_operator) throw notFound('Page')
}

/** Notes what an operator has changed: in the audit log of that account, or of the operator's own. */
export async function audit(
  { ctx, session }: Visit,
  act: string,
  target: string,
  account_id = session.account_id,
): Promise<void> {
  await writeAudit(ctx.pool, {
    ...{ account_id, actor: 'operator', actor_id: session.member_id, actor_name: session.email },
    ...{ client_address: clientAddress(ctx) || null, action: act, target },
  })
}

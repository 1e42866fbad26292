import { clientAddress } from '#api/client_address.ts'
import type { Context } from '#api/context.ts'
import { writeAudit } from '#flows/members/write_audit.ts'

/** Writes a change by the caller of a request to the audit log. `path` contains the names of its parameters: `/emails/:id`. */
export async function auditChange(ctx: Context, action: string, path: string): Promise<void> {
  const { account_id, id, name, role } = ctx.state.caller
  const target = path.replace(/:(\w+)/g, (_, param: string) => ctx.params[param] ?? '')
  await writeAudit(ctx.pool, {
    ...{ account_id, actor: role ? 'member' : 'api_key', actor_id: id, actor_name: name, action, target },
    client_address: clientAddress(ctx) || null,
  }).catch(err => ctx.log.error({ err, action }, 'a change is missing from the audit log')) // the change itself is already committed
}
